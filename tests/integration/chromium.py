"""A headless Chromium, driven by its DevTools protocol over a pipe: pages are opened, asked, clicked and pictured."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 60  # seconds for one answer


class BrowserError(AssertionError):
    """What the page threw, or the browser refused."""


class Chromium:
    """One browser with one tab. Use it in a `with` statement."""

    def __init__(self, size=(1280, 800), dark=False, touch=False):
        self.home = tempfile.mkdtemp(prefix="chromium.")
        to_browser, self.into = os.pipe()
        self.out, from_browser = os.pipe()

        def descriptors():  # the browser reads from 3 and writes to 4
            reads, writes = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.home}", "about:blank"]
        self.process = subprocess.Popen(command, preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(size, dark, touch)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.home, ignore_errors=True)

    def resize(self, size, dark=False, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                          {"name": "pointer", "value": "coarse" if touch else "fine"}])

    def receive(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.out], [], [], max(0, until - time.monotonic()))[0]:
                raise BrowserError("the browser does not answer")
            read = os.read(self.out, 1 << 20)
            if not read:
                raise BrowserError("the browser has ended")
            self.buffer += read
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(until)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, address):
        """Opens a page, and returns how many seconds it took until its script was done."""
        self.events.clear()
        begin = time.monotonic()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait_for("document.documentElement?.dataset.ready === 'yes'")
        return time.monotonic() - begin

    def ask(self, expression):
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=20):
        until = time.monotonic() + seconds
        while not self.ask(expression):
            if time.monotonic() > until:
                raise BrowserError(f"never became true: {expression}; {self.complaints()}")
            time.sleep(0.01)

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def complaints(self):
        """Exceptions of scripts, what the page's policy refused, and requests to a network."""
        self.ask("0")
        said = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                said.append(details.get("exception", {}).get("description", details["text"]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                said.append(parameters["entry"]["text"])
            elif event.get("method") == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file:", "about:", "data:")):
                said.append("asks for " + parameters["request"]["url"])
            elif event.get("method") == "Page.javascriptDialogOpening":
                said.append("opens a dialog: " + parameters["message"])
        return said

    def click(self, selector, clicks=1):
        """Clicks the middle of the first element that matches."""
        place = self.ask(f"(() => {{ const found = document.querySelector({json.dumps(selector)}); if (!found) return null;"
                         "found.scrollIntoView({block: 'nearest'}); const box = found.getBoundingClientRect();"
                         "return [box.left + box.width / 2, box.top + box.height / 2]; })()")
        if place is None:
            raise BrowserError(f"nothing matches {selector}")
        self.click_at(*place, clicks)

    def click_at(self, x, y, clicks=1):
        for count in range(1, clicks + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)
        self.settle()

    def press(self, *keys):
        """Keys by their names (`ArrowDown`), or letters."""
        codes = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Backspace": 8}
        for key in keys:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])), **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])))
        self.settle()

    def picture(self, path):
        self.settle()
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def print(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
