"""A small SDL app in Python: registers, then says what a test or a picture needs. Used by bench.py."""

import json
import socket
import struct
import threading
import time

RPC, VIDEO = 0x07, 0x0B
REQUEST = 0
# Numbers of MOBILE_API's enum FunctionID.
FUNCTIONS = {
    "RegisterAppInterface": 1, "AddCommand": 5, "Alert": 12, "Show": 13, "Speak": 14,
    "SetMediaClockTimer": 15, "SubscribeButton": 18, "SubscribeVehicleData": 20,
    "GetVehicleData": 22, "PutFile": 32, "ListFiles": 34, "SetDisplayLayout": 36,
}


START, ACK, NAK = 1, 2, 3


def control(info, service=RPC, session=0, payload=b""):
    return struct.pack(">BBBBII", 0x50, service, info, session, len(payload), 1) + payload


def bson(key, text):
    """A document with one string."""
    value = text.encode() + b"\0"
    element = b"\x02" + key.encode() + b"\0" + struct.pack("<i", len(value)) + value
    return struct.pack("<i", len(element) + 5) + element + b"\0"


def single(service, session, payload, number=1):
    return struct.pack(">BBBBII", 0x51, service, 0, session, len(payload), number) + payload


def rpc(function, correlation, parameters):
    text = json.dumps(parameters, separators=(",", ":")).encode()
    head = struct.pack(">III", REQUEST << 28 | FUNCTIONS[function], correlation, len(text))
    return head + text


class App:
    """One TCP connection to relayd. Answers are read and counted; `visible` is set when the app is FULL."""

    def __init__(self, port, name, app_id, kind="DEFAULT"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.correlation = 0
        self.answers = 0
        self.session = 0
        self.buffer = b""
        self.visible = threading.Event()
        self.socket.sendall(control(START, payload=bson("protocolVersion", "5.4.0")))
        while self.session == 0:
            _, info, session, _, _ = self.frame()
            if info == ACK:
                self.session = session
            elif info == NAK:
                raise ConnectionError("the head unit refused the session")
        self.ask("RegisterAppInterface", {
            "syncMsgVersion": {"majorVersion": 8, "minorVersion": 0, "patchVersion": 0},
            "appName": name, "appID": app_id, "isMediaApplication": kind == "MEDIA",
            "languageDesired": "EN-US", "hmiDisplayLanguageDesired": "EN-US", "appHMIType": [kind]})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def close(self):
        self.socket.close()

    def ask(self, function, parameters):
        self.correlation += 1
        self.socket.sendall(
            single(RPC, self.session, rpc(function, self.correlation, parameters)))

    def flood(self, per_second, seconds):
        """So many Show requests, evenly spread as well as Python can."""
        start = time.monotonic()
        sent = 0
        while (passed := time.monotonic() - start) < seconds:
            batch = b""
            while sent < passed * per_second:
                sent += 1
                self.correlation += 1
                text = {"mainField1": f"Track {sent}", "mainField2": "Flood", "alignment": "CENTERED"}
                batch += single(RPC, self.session, rpc("Show", self.correlation, text))
            if batch:
                self.socket.sendall(batch)
            time.sleep(0.005)
        return sent

    def stream_video(self, ended, per_second=30, size=7000):
        """Pictures of nothing, once the app is visible, until told to end."""
        self.visible.wait(30)
        self.socket.sendall(control(START, VIDEO, self.session))
        picture = b"\0\0\0\1\x41" + b"\x9a" * size
        start = time.monotonic()
        sent = 0
        while not ended.wait(0.01):
            while sent < (time.monotonic() - start) * per_second:
                sent += 1
                self.socket.sendall(single(VIDEO, self.session, picture, sent))

    # Frames from relayd

    def take(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("relayd closed the connection")
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def frame(self):
        first, service, info, session, size = struct.unpack(">BBBBI", self.take(8))
        if first >> 4 > 1:
            self.take(4)
        payload = self.take(size)
        return service, info, session, first & 7, payload

    def read(self):
        try:
            while True:
                service, _, _, _, payload = self.frame()
                self.answers += service == RPC
                if b'"hmiLevel":"FULL"' in payload:
                    self.visible.set()
        except (OSError, ConnectionError):
            pass
