#!/usr/bin/python3
"""A head unit's Bluetooth, made of code, for Tests/VM/bluetooth-case: sockets of the kernel's, and SDP spoken here.

    bluetooth-unit.py find OWN PHONE UUID            the RFCOMM channel of the service, from the phone's records
    bluetooth-unit.py join OWN PHONE CHANNEL         connects to the phone, and is a head unit there
    bluetooth-unit.py offer OWN CHANNEL UUID         offers the service itself, and is a head unit for who connects
    bluetooth-unit.py deny OWN UUID                  answers searches with nothing, and takes no connection

OWN is the address of the adapter that is the unit's. A head unit grants sessions and sends everything else of a
session back as it came, so that who speaks to it can compare. Its lines say what happens; it reads orders:

    drop     the connection ends
    refuse   the channel is closed; nothing more connects
    listen   it is open again
    stop     nothing is read any more        go   it is
    quit
"""

import os
import socket
import struct
import sys
import threading

SDP_PSM = 1
SOL_BLUETOOTH, BT_SECURITY = 274, 4
LOW, MEDIUM = 1, 2
# Bytes of an answer to a search that are sent at a time: the rest is asked for with the continuation state, as
# units with small buffers want it.
ANSWER_BYTES = 48


def say(*words):
    print(*words, flush=True)


# Data elements of SDP (Bluetooth Core, volume 3, part B, 3).


def element(kind, body):
    sizes = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}
    if kind in (1, 2, 3) and len(body) in sizes:
        return bytes([kind << 3 | sizes[len(body)]]) + body
    return bytes([kind << 3 | 5, len(body)]) + body


def number(value, size=1):
    return element(1, value.to_bytes(size, "big"))


def uuid(text):
    return element(3, bytes.fromhex(text.replace("-", "")))


def short_uuid(value):
    return element(3, value.to_bytes(2, "big"))


def sequence(*elements):
    return element(6, b"".join(elements))


def elements(data):
    """The elements in the bytes: numbers, bytes, or lists of them."""
    found = []
    while data:
        kind, size = data[0] >> 3, data[0] & 7
        if size < 5:
            start, length = 1, 0 if kind == 0 else 1 << size
        else:
            width = 1 << size - 5
            start, length = 1 + width, int.from_bytes(data[1:1 + width], "big")
        body = data[start:start + length]
        if kind in (6, 7):
            found.append(elements(body))
        elif kind in (1, 2):
            found.append(int.from_bytes(body, "big"))
        else:
            found.append(body)
        data = data[start + length:]
    return found


def record(channel, service):
    """What a head unit says of its service: class, place, name."""
    return sequence(
        number(0x0000, 2), number(0x00010007, 4),
        number(0x0001, 2), sequence(uuid(service), short_uuid(0x1101)),
        number(0x0004, 2), sequence(
            sequence(short_uuid(0x0100)), sequence(short_uuid(0x0003), number(channel))),
        number(0x0005, 2), sequence(short_uuid(0x1002)),
        number(0x0100, 2), element(4, b"SDL"))


def answer_searches(own, records):
    """The unit's SDP server, on its own adapter only: bluetoothd has one for all of them."""
    listener = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP)
    listener.bind((own, SDP_PSM))
    listener.listen(2)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, records), daemon=True).start()


def answer(connection, records):
    try:
        while True:
            asked = connection.recv(1024)
            if not asked:
                return
            pdu, transaction, _ = struct.unpack_from(">BHH", asked)
            pattern = set(flat(elements(asked[5:])[0]))
            say("asked for", *(item.hex() for item in pattern), "state", asked[-1])
            whole = sequence(*(body for names, body in records if pattern <= names))
            # The continuation state is nothing (0), or the two bytes that were given.
            start = int.from_bytes(asked[-2:], "big") if asked[-1] else 0
            part = whole[start:start + ANSWER_BYTES]
            end = start + len(part)
            rest = b"\0" if end == len(whole) else b"\x02" + end.to_bytes(2, "big")
            if pdu == 6:
                body = struct.pack(">H", len(part)) + part + rest
                connection.sendall(struct.pack(">BHH", 7, transaction, len(body)) + body)
            elif pdu == 2:
                body = struct.pack(">HH", 0, 0) + b"\0"
                connection.sendall(struct.pack(">BHH", 3, transaction, len(body)) + body)
            else:
                connection.sendall(struct.pack(">BHHH", 1, transaction, 2, 3))
    except OSError as error:
        say("search ended:", error)


# The end of the long form of a short UUID.
BASE = bytes.fromhex("00001000800000805f9b34fb")


def flat(items):
    """The UUIDs in the elements, each in its shortest form."""
    for item in items if isinstance(items, list) else [items]:
        if isinstance(item, list):
            yield from flat(item)
        elif isinstance(item, bytes):
            if item.endswith(BASE) and len(item) == 16:
                item = item[:4]
            yield item[2:] if len(item) == 4 and item.startswith(b"\0\0") else item


def find(own, phone, service):
    """The channel that the phone's records give for the service."""
    connection = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP)
    connection.bind((own, 0))
    connection.connect((phone, SDP_PSM))
    pattern, everything = sequence(uuid(service)), sequence(number(0x0000FFFF, 4))
    whole, state = b"", b"\0"
    while True:
        body = pattern + struct.pack(">H", 0xFFFF) + everything + state
        connection.sendall(struct.pack(">BHH", 6, 1, len(body)) + body)
        heard = connection.recv(4096)
        size = struct.unpack_from(">H", heard, 5)[0]
        whole += heard[7:7 + size]
        state = heard[7 + size:]
        if state[0] == 0:
            break
    for attributes in elements(whole)[0]:
        known = dict(zip(attributes[::2], attributes[1::2]))
        say("record:", known.get(0x0100), known.get(0x0001))
        for protocol in known.get(0x0004, []):
            if protocol[0] == b"\0\3":
                return protocol[1]
    return None


class HeadUnit:
    """Grants sessions; what else comes in a session goes back as it came."""

    def __init__(self):
        self.reads = threading.Event()
        self.reads.set()
        self.connection = None

    def serve(self, connection):
        self.connection = connection
        sessions, frames, count = 0, 0, 0
        buffer = b""
        try:
            while True:
                self.reads.wait()
                data = connection.recv(4096)
                if not data:
                    break
                buffer += data
                count += len(data)
                while len(buffer) >= 8:
                    version = buffer[0] >> 4
                    header = 8 if version == 1 else 12
                    size = struct.unpack_from(">I", buffer, 4)[0]
                    if version not in (1, 2, 3, 4, 5) or size > 1 << 20:
                        say("no SDL:", buffer[:16].hex())
                        return
                    if len(buffer) < header + size:
                        break
                    frame, buffer = buffer[:header + size], buffer[header + size:]
                    frames += 1
                    if frame[0] & 7 == 0 and frame[2] == 1:
                        sessions += 1
                        # StartServiceACK in the old way: the payload is the hash.
                        hash_id = struct.pack(">I", sessions)
                        connection.sendall(
                            struct.pack(">BBBBII", 0x30, 7, 2, sessions % 250 + 1, 4, 0) + hash_id)
                    elif frame[0] & 7 == 0 and frame[2] == 4:
                        connection.sendall(struct.pack(">BBBBII", 0x30, frame[1], 5, frame[3], 0, 0))
                    elif frame[0] & 7:
                        connection.sendall(frame)
        except OSError as error:
            say("connection:", error)
        finally:
            say(f"ended: {sessions} sessions, {frames} frames, {count} bytes, {len(buffer)} left")
            connection.close()


def rfcomm(own, channel=None, security=MEDIUM):
    made = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_STREAM, socket.BTPROTO_RFCOMM)
    made.setsockopt(SOL_BLUETOOTH, BT_SECURITY, struct.pack("BB", security, 0))
    made.bind((own, channel or 0))
    return made


class Listener:
    def __init__(self, own, channel, unit):
        self.own, self.channel, self.unit, self.socket = own, channel, unit, None

    def open(self):
        self.socket = rfcomm(self.own, self.channel)
        self.socket.listen(1)
        threading.Thread(target=self.accept, args=(self.socket,), daemon=True).start()
        say("listens")

    def accept(self, listener):
        while True:
            try:
                connection, peer = listener.accept()
            except OSError:
                return
            say("accepted", peer)
            self.unit.serve(connection)

    def close(self):
        # Who accepts notices only so.
        if self.socket:
            self.socket.shutdown(socket.SHUT_RDWR)
            self.socket.close()
            self.socket = None
        say("refuses")


def obey(unit, listener):
    for line in sys.stdin:
        order = line.strip()
        say("order:", order)
        if order == "drop" and unit.connection:
            try:
                unit.connection.shutdown(socket.SHUT_RDWR)
            except OSError as error:
                say("drop:", error)
        elif order == "refuse":
            listener.close()
        elif order == "listen":
            listener.open()
        elif order == "stop":
            unit.reads.clear()
        elif order == "go":
            unit.reads.set()
        elif order == "quit":
            os._exit(0)


def main():
    what, own, *words = sys.argv[1:]
    unit = HeadUnit()
    if what == "find":
        channel = find(own, words[0], words[1])
        say("channel", channel)
        sys.exit(0 if channel else 1)
    if what == "join":
        connection = rfcomm(own)
        connection.connect((words[0], int(words[1])))
        say("joined")
        threading.Thread(target=obey, args=(unit, None), daemon=True).start()
        unit.serve(connection)
        return
    if what == "offer":
        service = words[1]
        body = record(int(words[0]), service)
        # Whoever looks for any of the UUIDs in a record finds it.
        records = [(set(flat(elements(body))), body)]
        listener = Listener(own, int(words[0]), unit)
        listener.open()
    else:
        records, listener = [], None
    threading.Thread(target=answer_searches, args=(own, records), daemon=True).start()
    say("ready")
    obey(unit, listener)


main()
