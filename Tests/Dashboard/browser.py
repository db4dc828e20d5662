"""Headless Chromium, spoken to over the DevTools protocol through a pipe: standard library only.

Used by dashboard_test.py, drive_test.py and screenshots.py. Everything waits for events or conditions, with one
generous deadline; nothing sleeps for luck.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# Seconds for anything to happen: far more than it takes, on a machine that is busy as well.
PATIENCE = 60


class Failure(Exception):
    """What the browser said, or what never happened."""


class Browser:
    """A Chromium with a profile of its own; gone with the `with` block."""

    def __init__(self):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
        if program is None:
            raise Failure("there is no chromium; install it: apt-get install chromium")
        self.profile = tempfile.mkdtemp(prefix="relayd-chromium-")
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", "--no-first-run",
            f"--user-data-dir={self.profile}", "--no-default-browser-check", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-gpu",
            "--disable-extensions", "--mute-audio", "--hide-scrollbars", "--password-store=basic",
            # Containers give /dev/shm 64 MB, and root no sandbox.
            "--disable-dev-shm-usage",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")

        def pipes():
            # Chromium reads commands at 3 and writes answers at 4. A copy first: one of ours
            # may be in the place of the other.
            inward, outward = os.dup(commands), os.dup(answers)
            os.dup2(inward, 3)
            os.dup2(outward, 4)

        self._process = subprocess.Popen(
            arguments, preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._answers = {}
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def page(self, width=1280, height=800, scale=1, dark=False, touch=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=LONG_TASKS)
        page.resize(width, height, scale, touch)
        page.prefer(dark)
        return page

    def call(self, method, session=None, **parameters):
        self._number += 1
        number = self._number
        command = {"id": number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while number not in self._answers:
            self.pump(deadline - time.monotonic(), method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def pump(self, seconds, what="anything"):
        """Takes what the browser says, waiting for it at most so long."""
        readable, _, _ = select.select([self._read], [], [], max(0, seconds))
        if not readable:
            if seconds <= 0:
                raise Failure(f"the browser did not answer {what} within {PATIENCE} s")
            return
        data = os.read(self._read, 1 << 16)
        if not data:
            raise Failure("the browser has ended")
        *messages, self._buffer = (self._buffer + data).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].happened(message["method"], message["params"])


# Tasks of more than 50 ms, in which a page answers nobody; kept where the test finds them.
LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longTasks.push(Math.round(entry.duration));
}).observe({ type: 'longtask', buffered: true });
"""


class Page:
    """One tab, what it asked the network for, and what it complained about."""

    def __init__(self, browser, session, target):
        self.browser = browser
        self.session = session
        self.target = target
        self.requests = []
        self.complaints = []

    def happened(self, method, facts):
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = facts["exceptionDetails"]
            self.complaints.append(
                details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning"):
            self.complaints.append(
                " ".join(str(one.get("value", one.get("description"))) for one in facts["args"]))
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{facts['entry']['text']} {facts['entry'].get('url', '')}")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def open(self, url):
        error = self.call("Page.navigate", url=url).get("errorText")
        if error:
            raise Failure(f"{url}: {error}")

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        del self.browser.pages[self.session]

    def resize(self, width, height, scale=1, touch=False):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=scale, mobile=touch)

    def prefer(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def value(self, expression):
        """The value of an expression, awaited if it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def until(self, what, expression, patience=PATIENCE):
        """Waits until the expression is true, and returns its value."""
        deadline = time.monotonic() + patience
        while True:
            value = self.value(f"(async () => {{ const value = await ({expression}); "
                               "return value instanceof Node ? true : value; })()")
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failure(f"never so: {what}; the page:\n{self.text()}")
            # Leaves the processor to the page.
            self.browser.pump(0.05)

    def text(self):
        return self.value("document.body.innerText")

    def click(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, text):
        for character in text:
            self.call("Input.dispatchKeyEvent", type="char", text=character)

    def key(self, key):
        """One key, as a person presses it."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        facts = {"key": key, "text": text} if text else {"key": key}
        kind = "keyDown" if text else "rawKeyDown"
        codes = {"Enter": 13, "Escape": 27}
        if key in codes:
            facts["windowsVirtualKeyCode"] = codes[key]
        self.call("Input.dispatchKeyEvent", type=kind, **facts)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, quality=None):
        kind = {"format": "webp", "quality": quality} if path.endswith(".webp") else {"format": "png"}
        image = self.call("Page.captureScreenshot", **kind)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))
