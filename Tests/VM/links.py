#!/usr/bin/env python3
"""Compares, link by link, what relayd and the head unit (headunit.c) have counted. gadget-case has put relayd's lines into
links.log, the head unit's into headunit.log.

    links.py certain    how many bytes to the head unit relayd says have arrived for certain, in all links
    links.py compare    exit code 1 where a link does not fit

In each link the head unit has got what is certain; or, besides, the last packet that the controller may have kept; or, besides
that, whole packets of the transfer that the end broke off, if the head unit's own read was broken off too. Links that
it never read from are relayd's alone: from those nothing has come or gone. But a read and a write that were under way
when the head unit reset the phone may be of the link after it."""

import functools
import re
import sys

COUNTED = re.compile(r"(\d+) bytes from the head unit; (\d+) for it, of which (\d+) were broken off and (\d+) may")
ROUND = re.compile(r"round \d+: .* in (\d+) bytes in .* out (\d+), .* broken-off read (\d+)(, reset)?")
PACKET = 512
# The shortest frame; the longest read of the head unit, and its longest write.
LEAST, READ, WRITE = 8, 16 * 1024, 140_000

links = [tuple(map(int, match.groups())) for match in map(COUNTED.search, open("links.log")) if match]
rounds = [
    (*map(int, match.groups()[:3]), bool(match[4])) for match in map(ROUND.search, open("headunit.log")) if match]


def certain(link):
    _, taken, broken_off, kept = link
    return taken - broken_off - kept


def excess(link, got, broken_off_read):
    """How many bytes more than are certain the head unit has got; None where that cannot be."""
    more = got - certain(link)
    kept = link[3]
    if more in (0, kept):
        return more
    packets = more - kept
    return more if 0 < packets <= min(broken_off_read, link[2]) and packets % PACKET == 0 else None


@functools.lru_cache(None)
def pairs(link, round_, early, late):
    """For each link from here on, the bytes of it that the head unit has got and those of its broken-off read; None if
    the links and the rounds cannot be brought together. Of the next link a read of the round before has got the first
    `early` bytes, and to it a write of the round before has sent the first `late` bytes."""
    if link == len(links):
        return () if (round_, early, late) == (len(rounds), 0, 0) else None
    for read, in_rounds, after in ways(link, round_, early, late):
        rest = pairs(link + 1, round_ + in_rounds, *after)
        if rest is not None:
            return (read, *rest)
    return None


def ways(link, round_, early, late):
    """How the next link fits to the next round, or to none; and how much of the round is of the link after it."""
    taken = links[link][0]
    if round_ < len(rounds):
        got, sent, broken_off_read, reset = rounds[round_]
        got, sent = got + early, sent + late
        if taken == sent or reset and LEAST <= sent - taken <= WRITE:
            if excess(links[link], got, broken_off_read) is not None:
                yield (got, broken_off_read), 1, (0, sent - taken)
            for own in {certain(links[link]), certain(links[link]) + links[link][3]}:
                if reset and LEAST <= got - own <= READ:
                    yield (own, 0), 1, (got - own, sent - taken)
    if taken == late and excess(links[link], early, 0) is not None:
        yield (early, 0), 0, (0, 0)


def compare():
    sys.setrecursionlimit(10_000)
    found = pairs(0, 0, 0, 0)
    if found is None:
        print("relayd's links (from the head unit, for it, broken off, may have been kept):", *links, sep="\n")
        print("the head unit's rounds (got, sent, broken-off read, reset):", *rounds, sep="\n")
        return 1
    arrived = stayed = packets = 0
    for link, (got, broken_off_read) in zip(links, found):
        more = excess(link, got, broken_off_read)
        arrived += link[3] > 0 and more >= link[3]
        stayed += link[3] > 0 and more == 0
        packets += max(0, more - link[3])
    print(f"{len(links)} links, {len(rounds)} that the head unit read from; the last packet that the controller may have kept "
          f"had arrived in {arrived} and was lost in {stayed}; {packets} bytes of broken-off transfers had arrived")
    return 0


if sys.argv[1:] == ["certain"]:
    print(sum(map(certain, links)))
else:
    sys.exit(compare())
