#!/usr/bin/env python3
"""Writes a trace as relayd records it, out of a captured session: the format a second time, from its
description alone (Documentation/trace-format.md), to test whoever reads traces.

usage: Tests/Wireshark/trace_of_capture.py [--big-endian] NAME [FILE]

NAME is a session of Tests/Fixtures/captures, such as js-full-1. Without FILE the trace goes to standard
output.
"""

import json
import os
import struct
import sys
from datetime import datetime, timezone

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAPTURES = os.path.join(ROOT, "Tests/Fixtures/captures")

EXPORTED_PDU = 252
DISSECTOR_NAME = 12
INBOUND, OUTBOUND = 1, 2

START_SERVICE, START_SERVICE_ACK = 1, 2
RPC = 7


def captures():
    """The names of all sessions."""
    return sorted(name[:-5] for name in os.listdir(CAPTURES) if name.endswith(".json"))


def padded(data):
    return data + bytes(-len(data) % 4)


class Trace:
    """A pcapng file in the making."""

    def __init__(self, big_endian=False):
        self.order = ">" if big_endian else "<"
        self.interfaces = {}
        self.packets = self.bytes = 0
        self.data = self.block(0x0A0D0D0A, self.pack("IHHq", 0x1A2B3C4D, 1, 0, -1) + self.options(
            (3, b"Linux"), (4, b"relayd 0.9.0"), (1, b"relayd trace 1")))

    def pack(self, layout, *values):
        return struct.pack(self.order + layout, *values)

    def block(self, kind, body):
        length = len(body) + 12
        return self.pack("II", kind, length) + body + self.pack("I", length)

    def options(self, *options):
        return b"".join(self.pack("HH", code, len(value)) + padded(value) for code, value in options) + bytes(4)

    def interface(self, name, description):
        """The number of an interface, described at its first use."""
        if name not in self.interfaces:
            self.interfaces[name] = len(self.interfaces)
            self.data += self.block(1, self.pack("HHI", EXPORTED_PDU, 0, 0) + self.options(
                (2, name.encode()), (3, description.encode()), (9, b"\x09")))
        return self.interfaces[name]

    def packet(self, interface, dissector, payload, ns, direction=0, comments=(), reported=None):
        """reported: bytes of the payload as it was, where it is not recorded whole."""
        name = padded(dissector.encode())
        tags = struct.pack(">HH", DISSECTOR_NAME, len(name)) + name + bytes(4)
        data = tags + payload
        whole = len(tags) + (len(payload) if reported is None else reported)
        flags = ((2, self.pack("I", direction)),) if direction else ()
        self.data += self.block(6, self.pack(
            "IIIII", interface, ns >> 32, ns & 0xFFFFFFFF, len(data), whole) + padded(data) + self.options(
                *flags, *((1, comment.encode()) for comment in comments)))
        self.packets += 1
        self.bytes += len(payload)

    def record(self, interface, ns, **fields):
        self.packet(interface, "relayd", json.dumps(fields, ensure_ascii=False).encode(), ns)


def frames(data):
    """Cuts a stream of whole frames."""
    offset = 0
    while offset < len(data):
        header = 8 if data[offset] >> 4 == 1 else 12
        length = header + int.from_bytes(data[offset + 4:offset + 8], "big")
        yield data[offset:offset + length]
        offset += length


def timed_frames(name):
    """Frames of a session in the order in which they were whole, each with seconds since the start and
    whether the app sent it."""
    with open(f"{CAPTURES}/{name}.json") as file:
        index = json.load(file)
    ends = {}
    for direction in ("up", "down"):
        with open(f"{CAPTURES}/{name}.{direction}.bin", "rb") as file:
            end, list_of = 0, []
            for frame in frames(file.read()):
                end += len(frame)
                list_of.append((end, frame))
        ends[direction] = list_of
    for chunk in index["chunks"]:
        rest = ends[chunk["dir"]]
        while rest and rest[0][0] <= chunk["off"] + chunk["len"]:
            yield chunk["t"], chunk["dir"] == "up", rest.pop(0)[1]


class Apps:
    """Whose frame it is: an app begins with its StartService, and has the session that it is granted."""

    def __init__(self):
        self.count = 0
        self.of_session = {}
        self.waiting = []

    def owner(self, frame, from_app):
        kind, service, info, session = frame[0] & 7, frame[1], frame[2], frame[3]
        if from_app and (kind, service, info, session) == (0, RPC, START_SERVICE, 0):
            self.count += 1
            self.waiting.append(self.count)
            return self.count
        if not from_app and (kind, service, info) == (0, RPC, START_SERVICE_ACK) and self.waiting:
            self.of_session[session] = self.waiting.pop(0)
        return self.of_session.get(session)


def trace_of(name, big_endian=False):
    """The bytes of the trace."""
    with open(f"{CAPTURES}/{name}.json") as file:
        started = round(json.load(file)["started"] * 1e6) * 1000
    address = "tcp:127.0.0.1:12345"
    trace, apps = Trace(big_endian), Apps()
    own = trace.interface("relayd", address)
    moment = datetime.fromtimestamp(started / 1e9, timezone.utc)
    trace.record(
        own, started, record="trace", version=1, program="relayd 0.9.0", accessory=address,
        started=moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"), file=1, streams="all", masked=[])
    trace.record(trace.interface("link 1", address), started, record="link_opened", number=1, address=address)
    connected, ns = set(), started
    for seconds, from_app, frame in timed_frames(name):
        ns = started + round(seconds * 1e6) * 1000
        app = apps.owner(frame, from_app)
        if app is None:
            place, comments = trace.interface("link 1", address), ["relayd: dropped, no_such_session: no app has it"]
        else:
            peer = f"127.0.0.1:{40000 + app - 1}"
            place, comments = trace.interface(f"app {app}", peer), []
            if app not in connected:
                connected.add(app)
                trace.record(place, ns, record="app_connected", app=app, peer=peer)
        if frame[0] & 7 == 0 and frame[1] == RPC and frame[2] == START_SERVICE_ACK:
            comments.append("relayd: grant opens")
        trace.packet(place, "sdl", frame, ns, INBOUND if from_app == (app is not None) else OUTBOUND, comments)
    for app in sorted(connected):
        trace.record(trace.interface(f"app {app}", ""), ns, record="app_left", app=app, reason="the app closed the connection")
    trace.record(trace.interface("link 1", address), ns, record="link_closed", reason="relayd is stopping")
    trace.record(own, ns, record="end", reason="stopped", frames=trace.packets, bytes=trace.bytes, missed_frames=0)
    return trace.data


def main():
    arguments = [word for word in sys.argv[1:] if word != "--big-endian"]
    if not 1 <= len(arguments) <= 2 or arguments[0] not in captures():
        sys.exit(f"{__doc__}\nsessions: {', '.join(captures())}")
    data = trace_of(arguments[0], "--big-endian" in sys.argv)
    if len(arguments) == 2:
        with open(arguments[1], "wb") as file:
            file.write(data)
    else:
        sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main()
