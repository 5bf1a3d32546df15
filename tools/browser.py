"""browser.py - drives a headless Chromium by its own protocol (DevTools) over two pipes: no package, no port.

Windows of any width, light and dark, keys, the console, pictures of the whole page, PDF.  Used by tests/browser/page
and tools/pictures.  An error of the page's script is in `said`, an error of the protocol raises RuntimeError.
"""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in a browser that is started with it and ends with it (a context manager)."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        here, there = os.pipe(), os.pipe()

        def descriptors():  # the browser reads 3 and writes 4
            into, out = os.dup(here[0]), os.dup(there[1])
            os.dup2(into, 3)
            os.dup2(out, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--disable-background-networking", "--disable-dev-shm-usage", "--user-data-dir=" + self.profile, "about:blank"],
            close_fds=False, preexec_fn=descriptors, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(here[0])
        os.close(there[1])
        self.to, self.answers = here[1], os.fdopen(there[0], "rb")
        self.numbers, self.session, self.said, self.loaded = itertools.count(1), None, [], set()
        pages = [t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self.session = self.ask("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)  # a browser whose pipe is closed ends
        self.process.wait()
        self.answers.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self):
        """The browser's next message, a dict; messages end with a zero byte."""
        text = bytearray()
        while not text.endswith(b"\0"):
            byte = self.answers.read1(1) if not self.answers.peek() else self.answers.read(1)
            if not byte:
                raise RuntimeError("the browser ended")
            text += byte
        message = json.loads(text[:-1])
        kind, of = message.get("method"), message.get("params", {})
        if kind == "Page.lifecycleEvent" and of["name"] == "load":
            self.loaded.add(of["loaderId"])
        elif kind == "Runtime.exceptionThrown":
            self.said.append(of["exceptionDetails"].get("exception", {}).get("description", of["exceptionDetails"]["text"]))
        elif kind == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(a.get("value", a.get("description"))) for a in of["args"]))
        elif kind == "Log.entryAdded":
            self.said.append(of["entry"]["text"])
        elif kind == "Network.requestWillBeSent" and not of["request"]["url"].startswith(("file:", "data:", "about:")):
            self.said.append("asked for " + of["request"]["url"])
        return message

    def ask(self, method, **params):
        """A command of the protocol and its answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, path, width=1000, height=900, dark=False):
        """Loads a file in a window of that size (CSS pixels) and waits until it is drawn; `said` has what its script
        says from now on."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.said.clear()
        loader = self.ask("Page.navigate", url=Path(path).resolve().as_uri())["loaderId"]
        while loader not in self.loaded:  # that of another page may come late
            self.read()
        self.settle()

    def settle(self):
        """Waits for a frame or two, with which an animation ends: what the page does on its window's size is done then."""
        self.run("document.body.animate([], 1).finished.then(() => true)")

    def run(self, script):
        """The value of a script in the page."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "the script failed"))
        return result["result"].get("value")

    def key(self, name, code=0, text="", modifiers=0):
        """Presses a key, such as Tab (9), ArrowDown (40), Enter (13, "\\r"), and releases it; modifiers 8: with shift."""
        keys = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                "ArrowDown": 40, "Home": 36, "End": 35}
        text = text or {"Enter": "\r", " ": " "}.get(name, "")
        event = {"key": name, "code": "Space" if name == " " else name, "modifiers": modifiers,
                 "windowsVirtualKeyCode": code or keys.get(name, 0)}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **event)

    def picture(self, path, whole=True):
        """Writes the window, or the whole page, as PNG."""
        clip = {}
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, **clip)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        """Prints the page on A4."""
        shot = self.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
