"""The built relayd with its dashboard, and servers that stand in for parts of it. Used by
dashboard_test.py, drive_test.py and screenshots.py."""

import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Seconds for anything to happen: far more than it takes, on a machine that is busy as well.
PATIENCE = 60


def programs():
    """Where relayd and relayctl were built: RELAYD_BIN, else the debug build."""
    return os.environ.get("RELAYD_BIN", os.path.join(ROOT, ".build", "debug"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Relayd:
    """A relayd of our own; gone with the `with` block."""

    def __init__(self, accessory="sim:", config="", dashboard="token_to_read: false"):
        self.directory = tempfile.mkdtemp(prefix="relayd-dashboard-")
        self.apps, self.port = free_port(), free_port()
        self.config = os.path.join(self.directory, "relayd.yaml")
        self.socket = os.path.join(self.directory, "relayd.sock")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"dashboard: {{{dashboard}}}\n" + config)
        self.accessory = accessory
        self.process = None
        self.children = []
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs(), "relayd"), "--config", self.config,
                 "--accessory", self.accessory, "--listen", f"127.0.0.1:{self.apps}",
                 "--control-socket", self.socket, "--dashboard", f"127.0.0.1:{self.port}"],
                stdout=log, stderr=log, env={**os.environ, "STATE_DIRECTORY": self.directory})
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.get("/v1/status")
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
                        raise AssertionError(f"relayd did not start:\n{log.read()}") from None
                time.sleep(0.02)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def open_stream(self):
        """The answer to a request for messages as they come: 200 and a stream until it is closed, or why not."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/v1/messages/stream")
        answer = connection.getresponse()
        if answer.status != 200:
            connection.close()
        return connection, answer

    def sample_app(self):
        """The app of the demo; it stays."""
        app = subprocess.Popen(
            [os.path.join(programs(), "relayctl"), "sample-app", "--stay", "--connect",
             f"127.0.0.1:{self.apps}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.children.append(app)
        return app

    def relayctl(self, *arguments):
        return subprocess.run(
            [os.path.join(programs(), "relayctl"), *arguments, "--socket", self.socket],
            capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

    def resident(self):
        """MiB of memory it holds."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as facts:
            line = next(line for line in facts if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


class Front:
    """Stands before a relayd and passes everything on; its children answer some of it themselves."""

    def __init__(self, relayd):
        front = self
        self.relayd = relayd
        self.ended = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                try:
                    front.answer(self)
                except (OSError, http.client.HTTPException):
                    # The page or relayd has gone, as both do at the end of a scene: so does this.
                    self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        connection = http.client.HTTPConnection("127.0.0.1", self.relayd.port, timeout=PATIENCE)
        try:
            self.pass_on(request, connection)
        finally:
            connection.close()

    def pass_on(self, request, connection):
        accept = request.headers.get("Accept", "")
        connection.request("GET", request.path, headers={"Accept": accept})
        answer = connection.getresponse()
        is_stream = request.path.split("?")[0].endswith("/stream")
        body = b"" if is_stream else self.edited(request.path, answer.read())
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            name = name.lower()
            if name != "transfer-encoding":
                request.send_header(name, str(len(body)) if name == "content-length" else value)
        request.end_headers()
        request.wfile.write(body)
        while is_stream and not self.ended.is_set() and (piece := answer.read1()):
            request.wfile.write(piece)
            request.wfile.flush()

    def edited(self, _path, body):
        return body


class Doctored(Front):
    """Says more of the accessory than this relayd has to say, and of limits that were hit."""

    def __init__(self, relayd, limits_hit=None, **accessory):
        self.accessory = accessory
        self.limits_hit = limits_hit
        super().__init__(relayd)

    def edited(self, path, body):
        if path != "/v1/status":
            return body
        status = json.loads(body)
        status["accessory"].update(self.accessory)
        if self.limits_hit is not None:
            status["limits_hit"] = self.limits_hit
        return json.dumps(status).encode()


class Departed(Front):
    """Its status still has an app that left before it could be asked about."""

    GONE = 4711

    def edited(self, path, body):
        if path != "/v1/status":
            return body
        status = json.loads(body)
        app = {**status["apps"][0], "id": self.GONE, "app_name": "Departed"}
        status["apps"].append(app)
        return json.dumps(status).encode()


class VehicleLosing(Front):
    """Its vehicle interface has a client that loses messages, or a signal of an unusual name."""

    def __init__(self, relayd, name=None):
        self.name = name
        super().__init__(relayd)

    def edited(self, path, body):
        if path != "/v1/vehicle":
            return body
        report = json.loads(body)
        for client in report["clients"]:
            client.update(lost=4711, problem="reads too slowly: 4711 messages lost")
        if self.name is not None and report["measurements"]:
            report["measurements"][0]["name"] = self.name
        return json.dumps(report).encode()


class Told(Front):
    """These messages and no others have been on the wire."""

    def __init__(self, relayd, messages):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        self.lines = [json.dumps({"n": number, "time": stamp, "priority": "info", **message}, separators=(",", ":"))
                      for number, message in enumerate(messages, 1)]
        super().__init__(relayd)

    def answer(self, request):
        if not request.path.startswith("/v1/messages/stream"):
            return super().answer(request)
        request.send_response(200)
        request.send_header("Content-Type", "application/x-ndjson")
        request.end_headers()
        request.wfile.write("\n".join(['{"instance":"7e11"}', *self.lines, ""]).encode())
        # A sign of life, as relayd gives: without one the page takes the connection for dead.
        while not self.ended.wait(15):
            request.wfile.write(f'{{"next":{len(self.lines)}}}\n'.encode())
        return None


class Flood(Front):
    """Makes the messages itself: so many per second whatever the machine and the build can do."""

    def __init__(self, relayd, per_second):
        self.per_second = per_second
        self.sent = 0
        super().__init__(relayd)

    def answer(self, request):
        if not request.path.startswith("/v1/messages/stream"):
            return super().answer(request)
        request.send_response(200)
        request.send_header("Content-Type", "application/x-ndjson")
        request.end_headers()
        return self.pour(request.wfile)

    def pour(self, file):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        file.write(b'{"instance":"f100d"}\n')
        start = time.monotonic()
        while not self.ended.is_set():
            lines = []
            while self.sent < (time.monotonic() - start) * self.per_second:
                self.sent += 1
                lines.append(self.message(self.sent, stamp))
            file.write("".join(lines).encode())
            file.flush()
            self.ended.wait(0.02)

    @staticmethod
    def message(number, stamp):
        """Requests and responses by turns, every thousandth of them refused."""
        start = f'{{"n":{number},"time":"{stamp}","kind":'
        place = ('"app":"#1","app_name":"Flood","app_id":"flood","session":1,"service":"rpc",'
                 f'"bytes":180,"function":"Show","function_id":13,"correlation_id":{number // 2},')
        if number % 2:
            return (f'{start}"request","priority":"info",{place}"from":"app","params":{{"mainField1":'
                    f'"Track {number}","mainField2":"A flood of text to be shown","mainField3":'
                    f'"{number * 7919 % 100003}","alignment":"CENTERED"}}}}\n')
        failed = number % 2000 == 0
        result = "REJECTED" if failed else "SUCCESS"
        priority = "warning" if failed else "info"
        return (f'{start}"response","priority":"{priority}",{place}"from":"accessory","success":'
                f'{"false" if failed else "true"},"result_code":"{result}","latency_ms":'
                f'{number % 50}.125,"request":{number - 1},"params":{{"success":true,'
                f'"result_code":"{result}"}}}}\n')
