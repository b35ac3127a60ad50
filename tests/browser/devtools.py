"""devtools.py: drives a headless Chromium over its DevTools protocol, by a pair of pipes: the
browser reads commands from its descriptor 3 and writes answers and events to 4, JSON ended by NUL.
Mouse and keys go in as input of the browser, not as events made by a script."""

import fcntl
import json
import os
import select
import subprocess
import time

from headless import Headless

# Of CSP 3; browsers that do not know it pass over it.
UNKNOWN_DIRECTIVE = "Unrecognized Content-Security-Policy directive 'webrtc'"
TIME_LIMIT_S = 300  # for one answer; machines that run tests are busy
MOVED_FDS = 10      # pipes are moved above the descriptors that the browser wants

SHIFT = 8
ALT = 1
CTRL = 2

# key -> (windowsVirtualKeyCode, text that it types or None)
KEYS = {
    "Tab": (9, None), "Enter": (13, "\r"), "Escape": (27, None), " ": (32, " "),
    "PageUp": (33, None), "PageDown": (34, None), "End": (35, None), "Home": (36, None),
    "ArrowLeft": (37, None), "ArrowUp": (38, None), "ArrowRight": (39, None),
    "ArrowDown": (40, None), "Backspace": (8, None), "Delete": (46, None), "F1": (112, None),
    "F6": (117, None), "F8": (119, None), ".": (190, "."), "/": (191, "/"),
}


def moved_pipe():
    return [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, MOVED_FDS) for fd in os.pipe()]


class Browser(Headless):
    def __init__(self, program):
        super().__init__("cuttle-browser-")
        command_read, self.commands = moved_pipe()
        self.answers, answer_write = moved_pipe()

        def take_pipes():
            os.dup2(command_read, 3)
            os.dup2(answer_write, 4)

        # As with windows, a frame that may not reach its page has a process of its own.
        arguments = [
            program, "--headless", "--site-per-process", "--remote-debugging-pipe", "--disable-gpu",
            "--no-first-run", "--hide-scrollbars", "--disable-dev-shm-usage", "--disable-breakpad",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions",
            "--window-size=1400,900", "--user-data-dir=" + self.profile, "about:blank",
        ]
        if os.getuid() == 0:
            arguments.insert(1, "--no-sandbox")
        self.start(arguments, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=take_pipes)
        os.close(command_read)
        os.close(answer_write)
        self.buffer = b""
        self.deadline = 0
        self.frames = {}  # the session of a frame with a process of its own -> that of its page
        self.asked = None

    def send(self, message):
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        self.deadline = time.monotonic() + TIME_LIMIT_S

    def receive(self):
        while b"\0" not in self.buffer:
            left_s = max(0, self.deadline - time.monotonic())
            ready, _, _ = select.select([self.answers], [], [], left_s)
            if not ready:
                raise RuntimeError("the browser does not answer")
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise RuntimeError("the browser is gone")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note_frame(message)
        return message

    def note_frame(self, message):
        params = message.get("params", {})
        if message.get("method") == "Target.attachedToTarget":
            if params["targetInfo"]["type"] == "iframe":
                self.frames[params["sessionId"]] = message.get("sessionId")
        elif message.get("method") == "Target.detachedFromTarget":
            self.frames.pop(params["sessionId"], None)
            if params["sessionId"] == self.asked:
                raise RuntimeError("what was asked is gone")

    @staticmethod
    def error_of(answer):
        return answer["error"]["message"] if "error" in answer else None

    def call(self, method, session=None, **params):
        self.asked = session
        return self.ask(method, params, **({"sessionId": session} if session else {}))

    def open(self, url, size=None, **features):
        """A page of a size (width, height in CSS pixels) and media features, which its first lines
        already see."""
        return Page(self, url, size, features)

    def close(self):
        self.end("Browser.close")

    def release(self):
        os.close(self.commands)
        os.close(self.answers)


class Page:
    def __init__(self, browser, url, size, features):
        self.browser = browser
        self.url = url
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        if size:
            self.resize(*size)
        if features:
            self.emulate(**features)
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + TIME_LIMIT_S
        loaded = "location.href !== 'about:blank' && document.readyState === 'complete'"
        while not self.value(loaded):
            if time.monotonic() > deadline:
                raise RuntimeError(url + " does not load")
            time.sleep(0.05)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def value(self, expression):
        """What an expression of JavaScript is worth."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def in_frames(self, expression):
        """What an expression is worth in each frame that has a process of its own; None where one goes away."""
        self.value("0")  # reads which frames have come
        values = []
        for frame in [frame for frame, page in self.browser.frames.items() if page == self.session]:
            try:
                answer = self.browser.call("Runtime.evaluate", frame, expression=expression,
                                           returnByValue=True)
                values.append(answer["result"].get("value"))
            except RuntimeError:
                values.append(None)
        return values

    def promised(self, expression):
        """What the promise that an expression is worth comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.promised("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def point_of(self, selector):
        """The middle of the element, which is scrolled into view."""
        box = self.value("""(() => {
          const element = document.querySelector(%s);
          element.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
          const box = element.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        })()""" % json.dumps(selector))
        return {"x": box[0], "y": box[1]}

    def hover(self, selector):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **self.point_of(selector))

    def click(self, selector, modifiers=0):
        point = self.point_of(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **point)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1,
                      modifiers=modifiers, **point)

    def press(self, key, modifiers=0):
        code, text = KEYS[key] if key in KEYS else (ord(key.upper()), key)
        params = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        if text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **params)
        else:
            self.call("Input.dispatchKeyEvent", type="rawKeyDown", **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)
        self.in_frames("0")  # a focus that leaves one is then where it goes to

    def type(self, text):
        self.call("Input.insertText", text=text)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def emulate(self, media="", **features):
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def of_kind(self, *methods):
        return [e for e in self.browser.events
                if e.get("sessionId") == self.session and e.get("method") in methods]

    def complaints(self):
        """Exceptions, and what the console shows; but not that this browser lacks a directive of the policy."""
        said = [json.dumps(e["params"]) for e in self.of_kind(
            "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]
        return [text for text in said if UNKNOWN_DIRECTIVE not in text]

    def requests(self):
        """What the page asked for besides itself."""
        urls = [e["params"]["request"]["url"] for e in self.of_kind("Network.requestWillBeSent")]
        return [url for url in urls if url != self.url and not url.startswith("data:")]

    def screenshot(self, path):
        import base64
        data = self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
