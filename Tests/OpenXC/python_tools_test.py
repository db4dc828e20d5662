"""The tools of openxc-python 2.2.0, as PyPI has them, at the serial ports of a built relayd.

Scripts/test runs it. They go into a virtual environment in .build the first time, which needs network. They run
with every Python from 3.8 to 3.13; nothing of them is changed.

usage: RELAYD_BIN=DIRECTORY python3 Tests/OpenXC/python_tools_test.py
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, ".build", "openxc-python")
# For a machine that is busy.
PATIENCE = 120


def install_tools():
    if not os.path.exists(os.path.join(TOOLS, "bin", "openxc-control")):
        venv.create(TOOLS, with_pip=True, clear=True)
        subprocess.run([os.path.join(TOOLS, "bin", "pip"), "install", "--quiet", "openxc==2.2.0", "pyserial==3.5"],
                       check=True)


class VehicleInterface:
    """A vehicle interface on TCP with the firmware's habits: it answers in the order of asking, says nothing to
    writes and to what it does not know, keeps what it was asked for, and sends its signals all the time."""

    ANSWERS = {"version": "8.2.1 (stand-in)", "device_id": "0012af345678", "platform": "FORDBOARD"}

    def __init__(self):
        self.heard = []
        self.recurring = set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                link, _ = self.server.accept()
            except OSError:
                return
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.speak, args=(link,), daemon=True).start()

    def speak(self, link):
        """Listens for at most a twentieth of a second between two signals."""
        pending, speed = b"", 0
        while True:
            try:
                if select.select([link], [], [], 0.05)[0]:
                    more = link.recv(4096)
                    if not more:
                        return
                    *pieces, pending = (pending + more).split(b"\0")
                    for piece in pieces:
                        if piece:
                            self.answer(link, json.loads(piece))
                speed = speed % 200 + 1
                self.say(link, name="vehicle_speed", value=speed)
                self.say(link, bus=1, id=1234, data="0x12345678")
            except OSError:
                return

    @staticmethod
    def say(link, **message):
        link.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\0")

    def answer(self, link, message):
        self.heard.append(message)
        command, status = message.get("command"), True
        if command in self.ANSWERS:
            self.say(link, command_response=command, message=self.ANSWERS[command], status=True)
        elif command == "get_vin":
            self.say(link, command_response=command, message="1FTFW1ET5DFC10312", status=True)
        elif command == "diagnostic_request":
            request = message["request"]
            key = tuple(request.get(part, 0) for part in ("bus", "id", "mode", "pid"))
            if message["action"] == "cancel":
                status = key in self.recurring
                self.recurring.discard(key)
            elif request.get("frequency"):
                status = key not in self.recurring
                self.recurring.add(key)
            self.say(link, command_response=command, message="", status=status)
            if message["action"] == "add" and status:
                self.say(link, bus=key[0], id=key[1], mode=key[2], success=True, pid=key[3], value=772)
        elif command in ("passthrough", "af_bypass", "predefined_obd2"):
            self.say(link, command_response=command, message="", status=True)

    def commands(self, name):
        return [message for message in self.heard if message.get("command") == name]


class PythonTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install_tools()
        cls.vehicle = VehicleInterface()
        cls.scratch = tempfile.TemporaryDirectory()
        cls.port, cls.protobuf, cls.writer = (
            os.path.join(cls.scratch.name, name) for name in ("openxc0", "openxc1", "openxc2"))
        config = os.path.join(cls.scratch.name, "relayd.yaml")
        with open(config, "w") as file:
            file.write("openxc:\n  listen: 127.0.0.1:0\n  writes: ['pty can:1:0x123', 'pty name:horn']\n"
                       f"  endpoints: ['{cls.protobuf} format=protobuf', '{cls.writer}']\n")
        cls.log = os.path.join(cls.scratch.name, "log")
        with open(cls.log, "w") as log:
            cls.relayd = subprocess.Popen(
                [os.path.join(os.environ["RELAYD_BIN"], "relayd"), "--config", config, "--dashboard", "off",
                 "--accessory", f"openxc+tcp:127.0.0.1:{cls.vehicle.port}", "--pty", cls.port,
                 "--control-socket", os.path.join(cls.scratch.name, "relayd.sock")],
                stdout=log, stderr=log)
        cls.until(lambda: os.path.exists(cls.writer) and len(cls.vehicle.heard) == 2, "relayd serves")

    @classmethod
    def tearDownClass(cls):
        cls.relayd.send_signal(signal.SIGTERM)
        status = cls.relayd.wait(PATIENCE)
        left = [path for path in (cls.port, cls.protobuf, cls.writer) if os.path.lexists(path)]
        with open(cls.log) as log:
            words = log.read()
        cls.vehicle.server.close()
        cls.scratch.cleanup()
        if status != 0 or left:
            raise AssertionError(f"relayd ended with {status} and left {left}:\n{words}")

    @classmethod
    def until(cls, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline or cls.relayd.poll() is not None:
                with open(cls.log) as log:
                    raise AssertionError(f"never so: {what}\n{log.read()}")
            time.sleep(0.02)

    def run_tool(self, tool, *arguments, port=None, form="json"):
        """What it prints; it must end by itself and well."""
        done = subprocess.run(self.line(tool, *arguments, port=port, form=form), capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout

    def line(self, tool, *arguments, port=None, form="json"):
        return [os.path.join(TOOLS, "bin", tool), *arguments, "--serial", "--serial-port", port or self.port,
                "--format", form]

    def test_version(self):
        before = len(self.vehicle.commands("version"))
        self.assertIn("Device is running version 8.2.1 (stand-in)", self.run_tool("openxc-control", "version"))
        self.assertEqual(len(self.vehicle.commands("version")), before + 1)

    def test_version_in_protobuf(self):
        words = self.run_tool("openxc-control", "version", port=self.protobuf, form="protobuf")
        self.assertIn("Device is running version 8.2.1 (stand-in)", words)

    def test_device_id_and_platform(self):
        self.assertIn("Device ID is 0012af345678", self.run_tool("openxc-control", "id"))
        self.assertIn("Device is a FORDBOARD", self.run_tool("openxc-control", "platform"))

    def test_vin(self):
        self.assertIn("Vehicle VIN is 1FTFW1ET5DFC10312", self.run_tool("openxc-control", "get_vin"))

    def test_payload_format_is_the_client_s_own(self):
        words = self.run_tool("openxc-control", "set", "--new-payload-format", "protobuf")
        self.assertIn("Changed payload format to protobuf", words)
        self.assertEqual(self.vehicle.commands("payload_format"), [])

    def test_passthrough_ends_with_its_owner(self):
        self.assertIn("Bus 1 passthrough set to True", self.run_tool("openxc-control", "set", "--bus", "1", "--passthrough"))
        said = lambda: [one["enabled"] for one in self.vehicle.commands("passthrough")]
        self.until(lambda: said()[:1] == [True] and said()[-1:] == [False], "it is on, and off again")

    def test_diagnostic_request(self):
        # What it prints is whatever came first: it takes every message for the answer.
        self.run_tool("openxc-diag", "add", "--message", "0x7e0", "--mode", "1", "--pid", "12")
        self.assertIn(("add", 0x7E0), [(one["action"], one["request"]["id"])
                                       for one in self.vehicle.commands("diagnostic_request")])

    def test_recurring_request_ends_with_its_owner(self):
        self.run_tool("openxc-diag", "add", "--message", "0x7e1", "--mode", "1", "--pid", "13", "--frequency", "1")
        self.until(lambda: [one["action"] for one in self.vehicle.commands("diagnostic_request")
                            if one["request"]["id"] == 0x7E1] == ["add", "cancel"], "it is added and cancelled")
        self.assertNotIn((1, 0x7E1, 1, 13), self.vehicle.recurring)

    def test_write(self):
        for number in ("0x123", "0x124"):
            self.run_tool("openxc-control", "write", "--bus", "1", "--id", number, "--data", "0x0102", port=self.writer)
        written = lambda: [one["id"] for one in self.vehicle.heard if "data" in one]
        self.until(lambda: written() != [], "it is written")
        self.assertEqual(written(), [0x123])

    def test_dump(self):
        for port, form in ((self.port, "json"), (self.protobuf, "protobuf")):
            with self.subTest(form=form):
                tool = subprocess.Popen(self.line("openxc-dump", port=port, form=form), stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"})
                try:
                    speeds, frames = [], 0
                    while len(speeds) < 20 or frames < 20:
                        # b'{"name":"vehicle_speed",…}', as the tool prints it.
                        message = json.loads(tool.stdout.readline().decode().strip()[2:-1])
                        if message.get("name") == "vehicle_speed":
                            speeds.append(message["value"])
                        frames += message.get("id") == 1234
                    follow = [before % 200 + 1 for before in speeds[:-1]]
                    self.assertEqual([int(speed) for speed in speeds[1:]], [int(speed) for speed in follow])
                finally:
                    tool.kill()
                    tool.wait()
                    tool.stdout.close()


if __name__ == "__main__":
    if "RELAYD_BIN" not in os.environ:
        sys.exit("RELAYD_BIN must name the folder with the built relayd")
    unittest.main(verbosity=2)
