#!/usr/bin/env python3
"""Apps for tests of relayd against a head unit that sends every frame back (headunit.c).

    apps.py PORT COUNT SECONDS

Each app starts a session, sends frames of all sizes one after the other, and compares what comes back byte for
byte. When relayd closes the connection, because the link ended, it connects again. At the end a line of counts;
exit code 1 when any byte was wrong, or when a frame did not come back although the connection stood."""

import os
import random
import socket
import struct
import sys
import threading
import time

# Seconds for an answer: of a head unit that has to come first, in an emulated machine.
PATIENCE = 60
SIZES = [0, 1, 100, 487, 488, 500, 512, 1012, 1500, 4000, 8180, 16372, 16384, 30000]
# Where the way to the head unit is slow, large frames take longer than an app waits.
SIZES = [size for size in SIZES if size <= int(os.environ.get("MAX_SIZE", "30000"))]


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.sessions = self.sent = self.echoed = self.echoed_bytes = self.wrong = self.broken = 0

    def add(self, **changes):
        with self.lock:
            for name, value in changes.items():
                setattr(self, name, getattr(self, name) + value)


def receive(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return data


def frame(connection):
    first = receive(connection, 8)
    header = first if first[0] >> 4 == 1 else first + receive(connection, 4)
    return header, receive(connection, struct.unpack(">I", header[4:8])[0])


def start(connection):
    connection.sendall(bytes([0x10, 7, 1, 0, 0, 0, 0, 0]))
    while True:
        header, _ = frame(connection)
        if header[0] & 7 == 0 and header[2] == 2:
            return header[3]
        if header[0] & 7 == 0 and header[2] == 3:
            raise ConnectionError("refused")


def run(number, port, end, counts):
    chance = random.Random(number)
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                session = start(connection)
                counts.add(sessions=1)
                message = 1
                while time.monotonic() < end:
                    bulk = chance.randbytes(chance.choice(SIZES))
                    message += 1
                    # A request, "{}" as its parameters, and the rest as its bulk data.
                    payload = struct.pack(">III", 1, message, 2) + b"{}" + bulk
                    sent = struct.pack(">BBBBII", 0x31, 7, 0, session, len(payload), message) + payload
                    counts.add(sent=1)
                    connection.sendall(sent)
                    try:
                        while True:
                            header, answer = frame(connection)
                            if header[0] & 7:
                                break
                    except TimeoutError:
                        counts.add(wrong=1)
                        print(f"app {number}: {sent[:24].hex()} {len(sent)} has not come back", flush=True)
                        raise
                    if header + answer == sent:
                        counts.add(echoed=1, echoed_bytes=len(sent))
                    else:
                        counts.add(wrong=1)
                        print(f"app {number}: sent {sent[:24].hex()} {len(sent)}, "
                              f"got {(header + answer)[:24].hex()} {len(header + answer)}", flush=True)
        except OSError:
            counts.add(broken=1)
            time.sleep(0.05)


def main():
    port, count, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    counts = Counts()
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=run, args=(n, port, end, counts), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    stop = os.environ.get("STOP_FILE")
    while time.monotonic() < end and any(t.is_alive() for t in threads):
        if stop and os.path.exists(stop):
            break
        time.sleep(0.2)
    print(f"apps: {counts.sessions} sessions, {counts.sent} frames sent, {counts.echoed} came back "
          f"({counts.echoed_bytes} bytes), wrong {counts.wrong}, connections that ended {counts.broken}", flush=True)
    os._exit(1 if counts.wrong or not counts.echoed else 0)


main()
