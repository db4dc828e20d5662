"""The Wireshark dissector in tshark: Scripts/test runs it.

Traces are made from the captured sessions and from frames that no session has, and what tshark shows of
them is compared with what Python reads out of the same bytes.
"""

import contextlib
import json
import os
import random
import re
import select
import shutil
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from trace_of_capture import INBOUND, OUTBOUND, ROOT, CAPTURES, Trace, captures, timed_frames, trace_of  # noqa: E402

DISSECTOR = os.path.join(ROOT, "config/wireshark/sdl.lua")
PAGE = os.path.join(ROOT, "Documentation/wireshark.md")
COLOURS = os.path.join(ROOT, "config/wireshark/colorfilters")
REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
SHOW, PUT_FILE, ON_HMI_STATUS, GENERIC_RESPONSE = 13, 32, 32768, 31
# Behind the summary: size, how many frames, what is in a file, and how long an answer took.
BEHIND = re.compile(r"bulk |[\d.]+ [KM]?i?B( in \d+ frames)?$|[\d.]+ ms$")


def frame(kind, service, info, session, payload=b"", *, message=1, version=5, encrypted=False, size=None):
    head = struct.pack(">BBBBI", version << 4 | encrypted << 3 | kind, service, info, session,
                       len(payload) if size is None else size)
    return head + (struct.pack(">I", message) if version > 1 else b"") + payload


def control(info, session, payload=b"", *, service=7, version=5):
    return frame(0, service, info, session, payload, message=0, version=version)


def rpc(kind, function, correlation, parameters, bulk=b""):
    text = parameters if isinstance(parameters, bytes) else json.dumps(parameters, ensure_ascii=False).encode()
    return struct.pack(">IiI", kind << 28 | function, correlation, len(text)) + text + bulk


def single(session, payload, message=1, service=7):
    return frame(1, service, 0, session, payload, message=message)


def multiple(session, payload, message, pieces):
    """A message in so many consecutive frames."""
    size = -(-len(payload) // pieces)
    parts = [payload[start:start + size] for start in range(0, len(payload), size)]
    first = frame(2, 7, 0, session, struct.pack(">II", len(payload), len(parts)), message=message)
    return [first] + [
        frame(3, 7, 0 if number == len(parts) else (number - 1) % 255 + 1, session, part, message=message)
        for number, part in enumerate(parts, 1)
    ]


def bson(**elements):
    body = b""
    for key, value in elements.items():
        name = key.encode() + b"\0"
        if isinstance(value, str):
            text = value.encode() + b"\0"
            body += b"\x02" + name + struct.pack("<I", len(text)) + text
        elif isinstance(value, list):
            body += b"\x04" + name + bson(**{str(index): one for index, one in enumerate(value)})
        elif isinstance(value, tuple):
            body += b"\x12" + name + struct.pack("<q", value[0])
        else:
            body += b"\x10" + name + struct.pack("<i", value)
    return struct.pack("<I", len(body) + 5) + body + b"\0"


class Conversation:
    """A trace of one app, a millisecond from frame to frame."""

    def __init__(self):
        self.trace, self.ns = Trace(), 1_795_000_000_000_000_000
        self.trace.interface("relayd", "sim:")
        self.app = self.trace.interface("app 1", "127.0.0.1:40000")

    def add(self, direction, data, *comments, dissector="sdl", interface=None, **options):
        self.ns += 1_000_000
        self.trace.packet(self.app if interface is None else interface, dissector, data, self.ns, direction, comments,
                          **options)

    def up(self, data, *comments, **options):
        self.add(INBOUND, data, *comments, **options)

    def down(self, data, *comments, **options):
        self.add(OUTBOUND, data, *comments, **options)

    def record(self, **fields):
        self.ns += 1_000_000
        self.trace.record(self.app, self.ns, **fields)

    @property
    def data(self):
        return self.trace.data


class Stream:
    """A TCP connection as a packet capture; the app is the client."""

    def __init__(self, port):
        self.port, self.numbers, self.ms = port, [1000, 5000], 0
        self.data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
        self.segment(True, b"", 0x02)
        self.segment(False, b"", 0x12)
        self.segment(True, b"", 0x10)

    def segment(self, from_app, payload, flags=0x18):
        ports = (40000, self.port) if from_app else (self.port, 40000)
        mine, other = (0, 1) if from_app else (1, 0)
        addresses = [b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"]
        tcp = struct.pack(">HHIIBBHHH", *ports, self.numbers[mine], self.numbers[other], 0x50, flags, 65000, 0, 0)
        header = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 1, 0, 64, 6, 0) + addresses[mine] + addresses[other]
        packet = bytes(12) + b"\x08\x00" + header + tcp + payload
        self.ms += 1
        self.data += struct.pack("<IIII", 1_795_000_000 + self.ms // 1000, self.ms % 1000 * 1000, len(packet), len(packet))
        self.data += packet
        self.numbers[mine] += len(payload) + (1 if flags & 2 else 0)

    def send(self, from_app, data, size=1460):
        for start in range(0, len(data), size):
            self.segment(from_app, data[start:start + size])


class WiresharkTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="relayd-wireshark-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        # Nobody's own plugins and preferences.
        cls.environment = dict(os.environ, HOME=cls.folder, LC_ALL="C.UTF-8")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            cls.environment.pop(name, None)

    def write(self, data, name="test.pcapng"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def tshark(self, data, *arguments, script=DISSECTOR, succeeds=True):
        """What tshark prints; never an error of Lua's, nor one that the dissector has caught."""
        arguments = ["-r", self.write(data), *arguments]
        if script:
            arguments = ["-X", f"lua_script:{script}", *arguments]
        done = subprocess.run(["tshark", *arguments], env=self.environment, capture_output=True, timeout=120, check=False)
        output, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        for text in (output, errors):
            for word in ("Lua Error", "the dissector failed", "Lua:", "ERROR"):
                where = text.find(word)
                self.assertEqual(where, -1, text[max(0, where - 500):where + 500])
        if succeeds:
            self.assertEqual(done.returncode, 0, errors)
        return output

    def fields(self, data, *names, filter="sdl", more=(), **options):
        """A list for each packet that the filter takes: what it has of each field."""
        wanted = [word for name in names for word in ("-e", name)]
        output = self.tshark(
            data, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=;", *wanted, "-Y", filter, *more, **options)
        return [line.split("\t") for line in output.split("\n")[:-1]]

    def infos(self, data, filter="sdl || relayd", **options):
        return [row[0] for row in self.fields(data, "_ws.col.Info", filter=filter, **options)]

    # MARK: Captured sessions

    def test_frames_of_sessions(self):
        for name in captures():
            for more in ((), ("-2",)):
                with self.subTest(name, passes=len(more) + 1):
                    shown = self.fields(
                        trace_of(name), "sdl.version", "sdl.type", "sdl.service", "sdl.session", "sdl.size",
                        "sdl.message_id", "sdl.from_app", "sdl.encrypted", more=more)
                    expected = [
                        [str(data[0] >> 4), str(data[0] & 7), f"0x{data[1]:02x}", str(data[3]),
                         str(int.from_bytes(data[4:8], "big")),
                         str(int.from_bytes(data[8:12], "big")) if data[0] >> 4 > 1 else "",
                         str(int(from_app)), "0"]
                        for _, from_app, data in timed_frames(name)]
                    self.assertEqual(shown, expected)

    @staticmethod
    def messages(name):
        """Type, function, correlation ID, session and sender of each RPC, with the number of its last frame."""
        parts = {}
        for number, (_, from_app, data) in enumerate(timed_frames(name), 1):
            kind, service, info, session, payload = data[0] & 7, data[1], data[2], data[3], data[12:]
            if service not in (7, 15) or kind in (0, 2):
                continue
            key = (from_app, session, data[8:12])
            if kind == 3:
                parts[key] = parts.get(key, b"") + payload
                if info:
                    continue
                payload = parts.pop(key)
            first, correlation, size = struct.unpack(">IiI", payload[:12])
            yield number, from_app, session, first >> 28, first & 0xFFFFFFF, correlation, payload[12:12 + size]

    def test_rpcs_of_sessions(self):
        with open(os.path.join(ROOT, "Sources/SDLProtocol/RPC/FunctionID+Generated.swift")) as file:
            source = file.read()
        numbers = dict(re.findall(r"static var (\w+): Self { Self\(rawValue: (\d+)\) }", source))
        names = {int(numbers[swift]): text for swift, text in re.findall(r'\(\.(\w+), "(\w+)"\)', source)}
        for name in captures():
            with self.subTest(name):
                trace = trace_of(name)
                # The n-th frame has this number in the file, where records stand between.
                places = [int(row[0]) for row in self.fields(trace, "frame.number")]
                asked, expected = {}, []
                for number, from_app, session, kind, function, correlation, text in self.messages(name):
                    parameters = json.loads(text)
                    request = ""
                    if kind == REQUEST:
                        asked[session, function, correlation] = places[number - 1]
                    elif kind == RESPONSE:
                        request = str(asked.pop((session, function, correlation)))
                    expected.append([
                        str(places[number - 1]), str(kind), str(function), names[function], str(correlation), request,
                        str(int(parameters["success"])) if kind == RESPONSE else "", parameters.get("resultCode", "")])
                shown = self.fields(
                    trace, "frame.number", "sdl.rpc.type", "sdl.rpc.function_id", "sdl.rpc.function",
                    "sdl.rpc.correlation_id", "sdl.request_in", "sdl.rpc.success", "sdl.rpc.result",
                    filter="sdl.rpc.function")
                self.assertEqual(shown, expected)
                # On the second pass requests know their answers.
                pairs = {row[5]: row[0] for row in expected if row[5]}
                shown = self.fields(trace, "frame.number", "sdl.response_in", filter="sdl.rpc.type == 0", more=["-2"])
                self.assertEqual(shown, [[row[0], pairs.get(row[0], "")] for row in expected if row[1] == "0"])

    def test_lines_say_what_the_log_says(self):
        line = re.compile(
            r"(?P<arrow>[→←])  (?:request|response|notify|control) +(?P<name>[^\s!]+(?: rpc)?)!?(?: #(?P<id>\d+))?(?:  +(?P<words>.*))?$")
        for name in captures():
            path = os.path.join(CAPTURES, f"{name}.expected.txt")
            if not os.path.exists(path):
                continue
            with self.subTest(name):
                with open(path) as file:
                    log = [found for found in map(line.search, file.read().splitlines()) if found]
                trace = trace_of(name)
                shown = [text for text in self.infos(trace, "sdl") if not re.search(r"rpc (first )?frame", text)]
                self.assertEqual(len(shown), len(log))
                for text, entry in zip(shown, log):
                    head = entry["name"] + (f" corr {entry['id']}" if entry["id"] else "")
                    self.assertRegex(text, rf"^\d+ [{entry['arrow']}✓✗] {re.escape(head)}(  |$)")
                    at = len(head)
                    for words in (entry["words"] or "").split("  "):
                        # Advice about the message stands behind its line.
                        if BEHIND.match(words) or words.startswith("!"):
                            break
                        self.assertIn(words, text[at:], entry[0])
                        at = text.index(words, at)

    def test_latency_and_parts(self):
        trace = trace_of("js-full-1")
        (alert,) = self.fields(
            trace, "sdl.latency", "sdl.app", "sdl.app_name", filter='sdl.rpc.function == "Alert" && sdl.latency > 1')
        self.assertEqual(alert, ["1.509817000", "1", "Relay Test"])
        (file,) = self.fields(
            trace, "sdl.message.first_in", "sdl.message.part", "sdl.bulk.size", "sdl.bulk",
            filter='sdl.rpc.function == "PutFile" && sdl.message.part')
        self.assertEqual(len(file[1].split(";")), 4)
        self.assertEqual(file[2], "300205")
        self.assertTrue(file[3].startswith("89504e470d0a1a0a"))
        first, *others = self.fields(trace, "sdl.message.whole_in", filter="sdl.message.whole_in", more=["-2"])
        self.assertEqual(others, [first, first])

    def test_big_endian_trace(self):
        self.assertEqual(self.infos(trace_of("js-killed-1", big_endian=True)), self.infos(trace_of("js-killed-1")))

    def test_names_stand_in_the_columns(self):
        rows = self.fields(trace_of("js-killed-1"), "_ws.col.Source", "_ws.col.Destination", "_ws.col.Protocol",
                           filter="sdl || relayd")
        self.assertEqual(rows[0], ["relayd", "", "relayd"])
        self.assertIn(["app 1", "head unit", "SDL"], rows)
        self.assertIn(["head unit", "Relay Test", "SDL"], rows)

    # MARK: TCP

    def stream(self, port, *, size=1460, name="js-full-1"):
        stream = Stream(port)
        for _, from_app, data in timed_frames(name):
            stream.send(from_app, data, size)
        return stream.data

    def test_tcp_in_segments_of_any_size(self):
        wanted = ["sdl.rpc.function", "sdl.rpc.correlation_id", "sdl.rpc.result", "sdl.from_app"]
        expected = self.fields(trace_of("js-full-1"), *wanted, filter="sdl.rpc.function")
        for port, size in ((2776, 1460), (12345, 999), (4242, 60000)):
            for more in ((), ("-2",)):
                with self.subTest(port=port, passes=len(more) + 1):
                    shown = self.fields(self.stream(port, size=size), *wanted, filter="sdl.rpc.function", more=more)
                    self.assertEqual(shown, expected)

    def test_several_frames_in_a_segment(self):
        stream = Stream(2776)
        stream.send(True, control(1, 0, bson(protocolVersion="5.4.0")))
        stream.send(False, control(2, 1, bson(hashId=1)) + single(1, rpc(NOTIFICATION, ON_HMI_STATUS, 0, {"hmiLevel": "FULL"})))
        up = b"".join(single(1, rpc(REQUEST, SHOW, number, {"mainField1": "é" * number}), number) for number in range(1, 40))
        down = b"".join(single(1, rpc(RESPONSE, SHOW, number, {"success": True, "resultCode": "SUCCESS"}), number)
                        for number in range(1, 40))
        stream.send(True, up, 1000)
        stream.send(False, down, 1001)
        for more in ((), ("-2",)):
            rows = self.fields(stream.data, "sdl.rpc.correlation_id", "sdl.request_in", filter="sdl.rpc.type == 1", more=more)
            answered = [number for row in rows for number in row[0].split(";")]
            self.assertEqual(answered, [str(number) for number in range(1, 40)])
            self.assertEqual(sum(len(row[1].split(";")) for row in rows), 39)
        texts = self.infos(stream.data, "sdl")
        self.assertIn(" | 1 ← OnHMIStatus  FULL", texts[1])
        self.assertLess(max(map(len, texts)), 1200)

    def test_decode_as(self):
        stream = Stream(4242)
        stream.send(True, single(1, rpc(REQUEST, SHOW, 7, {})))
        self.assertEqual(self.infos(stream.data, "sdl"), [])
        self.assertEqual(self.infos(stream.data, "sdl", more=["-d", "tcp.port==4242,sdl"]), ["1 → Show corr 7"])

    def test_other_protocols_on_the_ports_are_left_alone(self):
        stream = Stream(12345)
        stream.send(True, b"GET / HTTP/1.1\r\n\r\n")
        stream.send(False, b"HTTP/1.1 200 OK\r\n\r\n")
        self.assertEqual(self.fields(stream.data, "frame.number"), [])

    def test_garbage_in_a_stream(self):
        stream = Stream(2776)
        stream.send(True, control(1, 0))
        stream.send(True, b"\xff" * 30)
        stream.send(True, single(1, rpc(REQUEST, SHOW, 1, {})))
        for more in ((), ("-2",)):
            self.assertEqual(
                self.infos(stream.data, "sdl", more=more),
                ["0 → StartService rpc", "· 30 bytes that are no frame", "1 → Show corr 1"])

    # MARK: Frames of all kinds

    def test_version_1(self):
        talk = Conversation()
        talk.up(control(1, 0, bson(protocolVersion="5.1.0"), version=1))
        talk.down(control(2, 3, version=1))
        talk.up(frame(1, 7, 0, 3, b'{"request":{"name":"Show","correlationID":6,"parameters":{"mainField1":"One"}}}', version=1))
        talk.down(frame(1, 7, 0, 3, b'{\n "response": {"name":"Show","correlationID":6,"parameters":{"success":false,'
                        b'"resultCode":"REJECTED","info":"no"}}}\n\0', version=1))
        talk.down(frame(1, 7, 0, 3, b'{"notification":{"name":"OnHMIStatus","parameters":{"hmiLevel":"NONE"}}}', version=1))
        talk.up(frame(1, 7, 0, 3, b'{"riddle":{}}', version=1))
        self.assertEqual(self.infos(talk.data), [
            "0 → StartService rpc  protocol 5.1.0", "3 ← StartServiceACK rpc  session 3  1.0 ms",
            '3 → Show corr 6  "One"', '3 ✗ Show corr 6  REJECTED  "no"  1.0 ms', "3 ← OnHMIStatus  NONE",
            "3 ✗ RPC  malformed: it is neither request nor response nor notification"])
        self.assertEqual(self.fields(talk.data, "sdl.message_id", "sdl.rpc.type_v1", "sdl.rpc.correlation_id",
                                     "sdl.request_in", filter="sdl.rpc.success == 0"), [["", "response", "6", "3"]])

    def test_control_payloads(self):
        talk = Conversation()
        talk.down(control(2, 1, b"\x00\x01\x00\x05", version=3))
        talk.down(control(2, 1, bson(
            protocolVersion="5.4.0", hashId=65541, mtu=(131072,), secondaryTransports=["TCP_WIFI", "IAP_USB"],
            videoServiceTransports=[1, 2], make="Maker", model="Car", authToken="secret")))
        talk.down(control(3, 0, bson(rejectedParams=["width", "height"], reason="too large"), service=11))
        talk.down(control(6, 1, bson(rejectedParams=["hashId"])))
        talk.down(control(0xFD, 1, bson(tcpIpAddress="10.0.0.1", tcpPort=12345), service=0))
        talk.down(control(0xFE, 1, b"\0\0\0\x05", service=11, version=4))
        talk.up(control(0, 1, service=0))
        talk.down(control(0xFF, 1, service=0))
        talk.down(control(2, 1, bson(hashId=(5,))))
        talk.down(control(2, 1, b"\x10\0\0\0\x02abc"))
        self.assertEqual(self.infos(talk.data), [
            "1 ← StartServiceACK rpc  session 1  hash 0x00010005",
            "1 ← StartServiceACK rpc  session 1  protocol 5.4.0  hash 0x00010005  mtu 131072  Maker Car  offers TCP_WIFI,IAP_USB",
            '0 ✗ StartServiceNAK video  "too large"  rejects width,height',
            "1 ✗ EndServiceNAK rpc  session 1  rejects hashId", "1 ← TransportEventUpdate control  TCP 10.0.0.1:12345",
            "1 ← ServiceDataACK video  5 frames", "1 → Heartbeat control", "1 ← HeartbeatACK control  1.0 ms",
            "1 ← StartServiceACK rpc  session 1  hash 5, not an int32",
            "1 ← StartServiceACK rpc  session 1  unreadable payload [10 00 00 00 02 61 62 63]"])
        self.assertEqual(
            self.fields(talk.data, "sdl.hash_id", "sdl.mtu", "sdl.secondary_transport", "sdl.auth_token", filter="sdl.mtu"),
            [["0x00010005", "131072", "TCP_WIFI;IAP_USB", "secret"]])
        self.assertEqual(
            self.fields(talk.data, "sdl.rejected_param", "sdl.reason", filter="sdl.refused"),
            [["width;height", "too large"], ["hashId", ""]])
        self.assertEqual(self.fields(talk.data, "frame.number", filter="sdl.malformed"), [["9"], ["10"]])

    def test_messages_in_several_frames(self):
        talk = Conversation()
        one = multiple(1, rpc(REQUEST, PUT_FILE, 1, {"syncFileName": "one"}, bytes(5000)), 9, 300)
        two = multiple(2, rpc(REQUEST, PUT_FILE, 2, {"syncFileName": "two"}, bytes(1000)), 9, 3)
        # Sessions interleave, and both directions.
        for number, data in enumerate(one):
            talk.up(data)
            if number < len(two):
                talk.up(two[number])
                talk.down(two[number])
        for more in ((), ("-2",)):
            rows = self.fields(talk.data, "sdl.session", "sdl.from_app", "sdl.bulk.size", "sdl.rpc.correlation_id",
                               filter="sdl.rpc.function", more=more)
            self.assertEqual(rows, [["2", "1", "1000", "2"], ["2", "0", "1000", "2"], ["1", "1", "5000", "1"]])

    def test_messages_that_are_not_whole(self):
        talk = Conversation()
        message = multiple(1, rpc(REQUEST, SHOW, 1, {"mainField1": "x" * 100}), 9, 4)
        for data in message[2:]:
            talk.up(data)
        for data in message[:2] + message[3:]:
            talk.up(data)
        talk.up(message[0])
        talk.up(message[0])
        talk.up(message[1])
        talk.record(record="gap", frames=2, bytes=300)
        for data in message[2:]:
            talk.up(data)
        short = multiple(1, rpc(REQUEST, SHOW, 2, {}), 10, 2)
        talk.up(frame(2, 7, 0, 1, struct.pack(">II", 5, 9), message=10))
        talk.up(short[1])
        talk.up(short[2])
        for more in ((), ("-2",)):
            texts = self.infos(talk.data, more=more)
            self.assertEqual(texts[0], "1 → rpc frame 2  33 B  without its beginning")
            self.assertIn("· gap: 2 frames, 300 bytes passed and are not in the trace", texts)
            self.assertEqual(texts[-1], "1 → Show corr 2")
            self.assertEqual([text for text in texts if " Show" in text], ["1 → Show corr 2"])
            # Frames of before know only on the second pass that what they begin does not end.
            later = (4, 5, 8, 9, 10, 15, 16) if more else ()
            self.assertEqual(
                self.fields(talk.data, "frame.number", filter="sdl.incomplete", more=more),
                [[str(number)] for number in sorted((1, 2, 3, 6, 7, 12, 13, 14, 17) + later)])
        self.assertEqual(self.fields(talk.data, "relayd.frames", "relayd.bytes", filter="relayd.gap"), [["2", "300"]])

    def test_answers(self):
        talk = Conversation()
        good = {"success": True, "resultCode": "SUCCESS"}
        talk.up(single(1, rpc(REQUEST, SHOW, 5, {})))
        talk.up(single(2, rpc(REQUEST, SHOW, 5, {})))
        talk.down(single(2, rpc(RESPONSE, SHOW, 5, good)))
        talk.down(single(1, rpc(RESPONSE, SHOW, 5, {"success": False, "resultCode": "REJECTED", "info": "not now"})))
        talk.down(single(1, rpc(RESPONSE, SHOW, 5, good)))
        talk.up(single(1, rpc(REQUEST, 0x777, 6, {})))
        talk.down(single(1, rpc(RESPONSE, GENERIC_RESPONSE, 6, {"success": False, "resultCode": "INVALID_DATA"})))
        talk.down(single(1, rpc(RESPONSE, SHOW, -1, {"success": False, "resultCode": "NO_SUCH_RESULT"})))
        # A new session has the number of an old one.
        talk.up(single(1, rpc(REQUEST, SHOW, 8, {})))
        talk.down(control(2, 1, bson(hashId=1)))
        talk.down(single(1, rpc(RESPONSE, SHOW, 8, good)))
        rows = self.fields(talk.data, "frame.number", "sdl.request_in", filter="sdl.rpc.type == 1")
        self.assertEqual(rows, [["3", "2"], ["4", "1"], ["5", ""], ["7", "6"], ["8", ""], ["11", ""]])
        self.assertEqual(self.fields(talk.data, "frame.number", filter="sdl.failed"), [["4"], ["7"], ["8"]])
        self.assertEqual(self.fields(talk.data, "frame.number", filter="sdl.unknown"), [["6"], ["8"]])
        self.assertEqual(self.infos(talk.data)[3], '1 ✗ Show corr 5  REJECTED  "not now"  3.0 ms')
        details = self.tshark(talk.data, "-V", "-Y", "frame.number in {4,7}")
        self.assertIn("(Warning/Response): Show failed: REJECTED, not now", details)
        self.assertIn("(Warning/Response): function 0x777 failed: INVALID_DATA", details)

    def test_what_relayd_did_with_a_frame(self):
        talk = Conversation()
        talk.up(single(4, rpc(REQUEST, SHOW, 1, {})), "relayd: dropped, no_such_session: no app has session 4", "relayd: masked")
        talk.down(control(5, 1), "relayd: own")
        talk.down(control(2, 1, bson(hashId=1)), "relayd: replaced", "relayd: grant opens")
        talk.down(control(2, 1, bson(hashId=1)), "relayd: amended")
        talk.up(single(1, rpc(REQUEST, SHOW, 1, {})), "somebody's own words")
        rows = self.fields(talk.data, "sdl.fate", "sdl.fate.code", "sdl.fate.reason", "_ws.col.Source")
        self.assertEqual(rows, [
            ["dropped;masked", "no_such_session", "no app has session 4", "app 1"], ["own", "", "", "relayd"],
            ["replaced;grant opens", "", "", "head unit"], ["amended", "", "", "head unit"], ["", "", "", "app 1"]])
        self.assertEqual(self.infos(talk.data)[:2], [
            "4 → Show corr 1  (dropped: no app has session 4)", "1 ← EndServiceACK rpc  session 1  (relayd: own)"])

    def test_places(self):
        talk = Conversation()
        link = talk.trace.interface("link 3", "sim:")
        talk.add(INBOUND, control(5, 1), interface=link)
        talk.add(OUTBOUND, control(4, 1), "relayd: own", interface=link)
        talk.add(INBOUND, b"\xff" * 9, "relayd: offset 77", interface=link, dissector="data")
        rows = self.fields(talk.data, "sdl.from_app", "sdl.app", "_ws.col.Source", "_ws.col.Destination")
        self.assertEqual(rows, [["0", "", "head unit", "no app"], ["1", "", "relayd", "head unit"]])
        self.assertEqual(self.fields(talk.data, "data.data", filter="data"), [["ff" * 9]])

    def test_streams_security_and_encryption(self):
        talk = Conversation()
        talk.up(frame(1, 11, 0, 1, bytes(1000)))
        talk.up(frame(1, 11, 0, 1, b"", size=1000), reported=1012)
        talk.up(frame(1, 10, 0, 1, bytes(10), size=1000), reported=1012)
        talk.up(frame(1, 7, 0, 1, b"\x17\x03\x03", encrypted=True))
        talk.down(frame(1, 0, 0, 1, struct.pack(">III", 0x00000001, 1, 0) + b"\x16\x03\x01"))
        talk.up(frame(1, 0, 0, 1, b"\x00\x00"))
        for data in multiple(1, bytes(100), 3, 2):
            talk.up(bytes([data[0] | 8]) + data[1:] if data[0] & 7 == 3 else data)
        self.assertEqual(self.infos(talk.data), [
            "1 → video  1000 B", "1 → video  1000 B", "1 → audio  1000 B", "1 → rpc  encrypted  3 B",
            "1 ← SendHandshakeData  15 B", "1 → security query  2 B", "1 → rpc first frame  message of 100 B in 2 frames",
            "1 → rpc frame 1 of 2  encrypted  50 B", "1 → rpc last frame  encrypted  50 B"])
        self.assertEqual(self.fields(talk.data, "frame.number", filter="sdl.cut"), [["2"], ["3"]])
        self.assertEqual(self.fields(talk.data, "frame.number", filter="sdl.malformed"), [["6"]])

    def test_malformed_frames(self):
        talk = Conversation()
        wrong = [
            b"", b"\x51", frame(1, 7, 0, 1, b"abc")[:11], frame(1, 7, 0, 1, b"abc"), frame(1, 7, 0, 1, bytes(12), size=99),
            frame(1, 7, 0, 1, bytes(12), size=4), frame(6, 7, 0, 1, b"abc"), frame(1, 99, 0, 1, b"abc"),
            frame(1, 7, 0, 1, b"abc", version=9), frame(2, 7, 0, 1, b"abc"), control(0x55, 1),
            single(1, struct.pack(">IiI", 13, 1, 1000) + b"{}"), single(1, struct.pack(">IiI", 0xD000000D, 1, 2) + b"{}"),
            single(1, rpc(REQUEST, SHOW, 1, b"[]")), single(1, rpc(REQUEST, SHOW, 1, b'{"a":')),
            single(1, rpc(REQUEST, SHOW, 1, b"[" * 100_000)), single(1, rpc(REQUEST, SHOW, 1, b'{"a":' * 9000)),
            single(1, rpc(REQUEST, SHOW, 1, b'{"a":"\\uD800\\x"}')), single(1, rpc(REQUEST, SHOW, 1, b'{"a":1} {}')),
            frame(3, 7, 0, 1, b""),
        ]
        for data in wrong:
            talk.up(data)
        for text in (b"", b"[]", b'{"record":7}', b"\xff\xfe", b'{"record":'):
            talk.add(0, text, dissector="relayd")
        for more in ((), ("-2",)):
            found = {row[0] for row in self.fields(talk.data, "frame.number", filter="sdl.malformed", more=more)}
            self.assertEqual(found, {str(number) for number in range(1, len(wrong) + 1)})
        self.assertEqual(len(self.fields(talk.data, "frame.number", filter="relayd.malformed")), 5)

    def test_text_that_would_change_the_line(self):
        talk = Conversation()
        for text in ("tab\there\nand \u0000zero", "\u202eturned\u2066", "\u0085next", "%s%n%d", "x" * 9000):
            talk.up(single(1, rpc(REQUEST, SHOW, 1, {"mainField1": text})))
        talk.up(single(1, rpc(REQUEST, SHOW, 1, b'{"mainField1":"\xff\xfe\xc0\x80\xed\xa0\x80"}')))
        talk.record(record="mark", text="a\tb\n\u001b[31mred %s")
        lines = self.tshark(talk.data).splitlines()
        self.assertEqual(len(lines), 7)
        self.assertIsNone(re.search("[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]", "".join(lines)))
        self.assertIn('"%s%n%d"', lines[3])
        self.assertLess(len(lines[4]), 200)

    def test_records(self):
        talk = Conversation()
        talk.record(record="notice", code="paced", text="the link is slow", app=1)
        talk.record(record="advice", code="duplicate_app_id", text="another one")
        talk.record(record="start_sent", app=1)
        talk.record(record="session_ended", app=1, session=2)
        talk.record(record="service_ended", app=1, session=2, service="video")
        talk.record(record="new_kind", app=-1, number=1.5, version=10**30, bytes=2**60, colours=["red"], text=None, streams={})
        self.assertEqual(self.infos(talk.data), [
            "· app 1: the link is slow (notice paced)", "· head unit: another one (advice duplicate_app_id)",
            "· app 1: its StartService is sent to the head unit", "· app 1: session 2 ended",
            "· app 1: video of session 2 ended", "· new_kind"])
        self.assertEqual(self.fields(talk.data, "relayd.app", "relayd.code", filter='relayd.record == "notice"'), [["1", "paced"]])

    # MARK: Hostile bytes

    @staticmethod
    def changed(data, chance):
        """A frame with some bytes changed, most of them at its beginning, now and then cut off."""
        data = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            is_early = chance.random() < 0.7
            place = min(int(chance.expovariate(1 / 24)), len(data) - 1) if is_early else chance.randrange(len(data))
            data[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)):]
        return chance.randbytes(chance.randrange(40)) if chance.random() < 0.05 else bytes(data)

    def test_bytes_of_any_kind(self):
        chance = random.Random(16)
        talk = Conversation()
        frames = [data for name in captures() for _, _, data in timed_frames(name) if len(data) < 3000]
        for number in range(3000):
            data = self.changed(chance.choice(frames), chance)
            options = {"reported": len(data) + chance.randrange(1, 70000)} if chance.random() < 0.05 else {}
            talk.add(chance.choice((INBOUND, OUTBOUND)), data, dissector="sdl" if number % 30 else "relayd", **options)
        self.assertEqual(len(self.tshark(talk.data).splitlines()), 3000)
        self.assertGreater(len(self.tshark(talk.data, "-V", "-2").splitlines()), 30_000)

    def test_streams_of_any_kind(self):
        chance = random.Random(17)
        for port in (2776, 4242):
            stream = Stream(port)
            stream.send(True, control(1, 0))
            for _, from_app, data in timed_frames("js-killed-1"):
                data = bytearray(data)
                for _ in range(chance.randrange(3)):
                    data[min(int(chance.expovariate(1 / 20)), len(data) - 1)] = chance.randrange(256)
                stream.send(from_app, bytes(data), chance.randrange(5, 1460))
            for more in ((), ("-2",)):
                self.assertGreater(len(self.tshark(stream.data, "-V", *more)), 1000)

    def test_bson_of_any_kind(self):
        chance = random.Random(18)
        talk = Conversation()
        whole = bson(protocolVersion="5.4.0", hashId=65541, mtu=(131072,), secondaryTransports=["TCP_WIFI", "IAP_USB"])
        nested = b""
        for _ in range(2000):
            nested = struct.pack("<I", len(nested) + 9) + b"\x04" + b"0\0" + nested + b"\0\0\0"
        talk.down(control(2, 1, nested))
        for _ in range(1500):
            data = bytearray(whole)
            for _ in range(chance.choice((1, 2, 4))):
                data[chance.randrange(len(data))] = chance.choice((0, 1, 2, 3, 4, 8, 0x10, 0x12, 0x7F, 0xFF))
            talk.down(control(2, 1, bytes(data[:chance.randrange(len(data) + 1)] if chance.random() < 0.2 else data)))
        self.tshark(talk.data, "-V")

    # MARK: Installing

    def test_installed_for_a_user_and_for_all(self):
        plugins = os.path.join(self.folder, ".local/lib/wireshark/plugins")
        os.makedirs(plugins)
        self.addCleanup(shutil.rmtree, plugins)
        shutil.copy(DISSECTOR, plugins)
        expected = self.infos(trace_of("js-killed-1"))
        self.assertEqual(self.infos(trace_of("js-killed-1"), script=None), expected)
        shutil.copy(DISSECTOR, os.path.join(plugins, "sdl-again.lua"))
        self.assertEqual(self.infos(trace_of("js-killed-1"), script=None), expected)

    def test_without_the_dissector_a_trace_opens(self):
        frames = len(list(timed_frames("js-killed-1")))
        self.assertGreater(len(self.tshark(trace_of("js-killed-1"), script=None).splitlines()), frames)

    def test_names_are_those_of_the_sources(self):
        subprocess.run([os.path.join(ROOT, "config/wireshark/generate-names"), "--check"], check=True)

    def test_every_lua_says_the_same(self):
        """Wireshark's Lua depends on its version: 5.1 or 5.2 up to 4.2, 5.3 or 5.4 since 4.4."""
        luas = [path for path in map(shutil.which, ("lua5.1", "lua5.2", "lua5.3", "lua5.4")) if path]
        if not luas:
            self.skipTest("there is no Lua outside Wireshark")
        start = 1_795_000_000_000_000_000
        session = [(INBOUND if from_app else OUTBOUND, start + round(seconds * 1e6) * 1000, data)
                   for seconds, from_app, data in timed_frames("js-full-1")]
        packets = [("sdl", *packet) for packet in session]
        chance = random.Random(19)
        for number, (direction, ns, data) in enumerate(session * 30):
            if len(data) < 3000:
                data = self.changed(data, chance)
                packets.append(("relayd" if number % 30 == 0 else "sdl", direction, ns, data))
        text = "".join(f"{name} {direction} {ns // 10**9} {ns % 10**9} {data.hex()}\n"
                       for name, direction, ns, data in packets)
        fake = os.path.join(ROOT, "Tests/Wireshark/fake_wireshark.lua")
        expected = self.infos(trace_of("js-full-1"), "sdl")
        for lua in luas:
            with self.subTest(lua):
                done = subprocess.run([lua, fake, DISSECTOR], input=text.encode(), capture_output=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = done.stdout.decode(errors="replace").splitlines()
                self.assertEqual(len(lines), 2 * len(packets))
                self.assertEqual([line for line in lines if "the dissector failed" in line], [])
                self.assertEqual(lines[:len(session)], expected)
                self.assertEqual(lines[len(packets):len(packets) + len(session)], expected)

    # MARK: What the page says

    def test_filters_of_the_page(self):
        with open(PAGE) as file:
            filters = re.findall(r"^\| `([^`]+)` \|", file.read(), re.MULTILINE)
        self.assertGreater(len(filters), 15)
        trace = trace_of("js-full-1")
        for one in filters:
            with self.subTest(one):
                self.tshark(trace, "-Y", one.replace("\\|", "|"))

    def test_colours(self):
        profile = os.path.join(self.folder, ".config/wireshark")
        os.makedirs(profile, exist_ok=True)
        shutil.copy(COLOURS, profile)
        self.addCleanup(os.remove, os.path.join(profile, "colorfilters"))
        output = self.tshark(trace_of("js-killed-1"), "-T", "fields", "-e", "frame.coloring_rule.name", "--color")
        self.assertIn("SDL", output)


class LiveTrace(socketserver.ThreadingUnixStreamServer):
    """A relayd that answers with a status, and whose live trace is a recorded session."""

    def __init__(self, path, status, trace):
        answers = {"/v1/status": status, "/v1/record/live": trace}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def version_string(self):
                return "relayd/0.0.0"

            def log_message(self, *_):
                pass

            def do_GET(self):
                body = answers[self.path]
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.send_header("Connection", "close")
                self.end_headers()
                for start in range(0, len(body), 5000):
                    piece = body[start:start + 5000]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")

        super().__init__(path, Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


@unittest.skipUnless("RELAYD_BIN" in os.environ, "RELAYD_BIN does not say where relayd and relayctl are")
class InstalledTests(unittest.TestCase):
    """What relayctl puts into Wireshark's folders."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="relayd-wireshark-")
        self.addCleanup(folder.cleanup)
        self.socket = os.path.join(folder.name, "c.sock")
        self.environment = dict(os.environ, HOME=folder.name, LC_ALL="C.UTF-8", RELAYD_SOCKET=self.socket)
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            self.environment.pop(name, None)

    def run_program(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, timeout=60, check=False)

    def relayctl(self, *words):
        return self.run_program(os.path.join(os.environ["RELAYD_BIN"], "relayctl"), *words)

    @contextlib.contextmanager
    def relayd(self, **environment):
        """A relayd that answers; gives its status."""
        relayd = subprocess.Popen(
            [os.path.join(os.environ["RELAYD_BIN"], "relayd"), "--accessory", "sim:", "--listen", "127.0.0.1:0",
             "--control-socket", self.socket, "--dashboard", "off"],
            env=dict(self.environment, **environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 30
            while (done := self.relayctl("status", "--json")).returncode != 0:
                self.assertLess(time.monotonic(), end, done.stderr)
            yield done.stdout
        finally:
            relayd.terminate()
            relayd.wait(30)

    def status(self):
        """What a relayd says of itself; it has stopped afterwards."""
        with self.relayd() as status:
            return status

    def test_a_running_relayd_is_an_interface(self):
        done = self.relayctl("wireshark", "--install", "--json")
        self.assertEqual([file["state"] for file in json.loads(done.stdout)["files"]], ["installed", "installed"])
        self.assertNotIn(b"relayd", self.run_program("tshark", "-D").stdout)
        trace = trace_of("js-full-1")
        relayd = LiveTrace(self.socket, self.status(), trace)
        self.addCleanup(relayd.server_close)
        self.addCleanup(relayd.shutdown)
        self.assertIn(b"relayd (relayd: sim:)", self.run_program("tshark", "-D").stdout)
        fields = ["-T", "fields", "-e", "sdl.rpc.function", "-Y", "sdl.rpc.function"]
        live = self.run_program("tshark", "-l", "-i", "relayd", *fields)
        self.assertEqual(live.returncode, 0, live.stderr)
        file = os.path.join(self.environment["HOME"], "trace.pcapng")
        with open(file, "wb") as output:
            output.write(trace)
        self.assertEqual(live.stdout, self.run_program("tshark", "-r", file, *fields).stdout)
        self.assertIn(b"OnVehicleData", live.stdout)

        done = self.relayctl("wireshark", "--uninstall", "--json")
        self.assertEqual([file["state"] for file in json.loads(done.stdout)["files"]], ["absent", "absent"])
        self.assertNotIn(b"relayd", self.run_program("tshark", "-D").stdout)

    def test_live_is_what_a_recording_has(self):
        """relayctl record --stdout | tshark -i -, beside a recording of the same app."""
        state = os.path.join(self.environment["HOME"], "state")
        os.mkdir(state, 0o700)
        with self.relayd(STATE_DIRECTORY=state):
            self.assertEqual(self.relayctl("record", "start").returncode, 0)
            fields = ["-T", "fields", "-e", "frame.comment", "-e", "sdl.session", "-e", "sdl.rpc.function"]
            live = subprocess.Popen(
                [os.path.join(os.environ["RELAYD_BIN"], "relayctl"), "record", "--stdout"],
                env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            shown = subprocess.Popen(["tshark", "-l", "-i", "-", "-X", "lua_script:" + DISSECTOR, "-Y", "sdl", *fields],
                                     env=self.environment, stdin=live.stdout, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
            live.stdout.close()
            # The sample app comes when tshark reads, which its first line shows: it is of another app.
            lines = []
            while not lines:
                self.assertEqual(self.relayctl("sample-app", "--name", "Early").returncode, 0)
                if select.select([shown.stdout], [], [], 1)[0]:
                    lines.append(shown.stdout.readline())
            self.assertEqual(self.relayctl("sample-app", "--name", "Late").returncode, 0)
            stopped = json.loads(self.relayctl("record", "stop", "--json").stdout)
        # relayd has stopped, and with it the live trace.
        lines += shown.stdout.read().splitlines(keepends=True)
        shown.stdout.close()
        self.assertEqual(shown.wait(60), 0)
        live.wait(60)
        done = self.run_program("tshark", "-X", "lua_script:" + DISSECTOR, "-r", stopped["latest"]["file"], "-Y", "sdl",
                                *fields)
        recorded = done.stdout.splitlines(keepends=True)
        # It was recorded from before the live trace until before relayd's end.
        late = max(number for number, line in enumerate(recorded) if b"RegisterAppInterface" in line)
        whole = recorded[late - 2:]
        self.assertGreater(len(whole), 20)
        self.assertIn(b"".join(whole), b"".join(lines))


if __name__ == "__main__":
    unittest.main()
