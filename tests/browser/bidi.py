"""bidi.py: drives a headless Firefox over WebDriver BiDi: JSON in a WebSocket of our own, on loopback. It has
what tests of programs need of devtools.py: open, value, promised, complaints."""

import base64
import json
import os
import re
import socket
import struct
import subprocess

from headless import Headless

TIME_LIMIT_S = 300
PREFERENCES = {
    "browser.shell.checkDefaultBrowser": "false", "datareporting.policy.dataSubmissionEnabled": "false",
    "toolkit.telemetry.reportingpolicy.firstRun": "false", "browser.aboutwelcome.enabled": "false",
    "app.update.disabledForTesting": "true", "network.captive-portal-service.enabled": "false",
    "network.connectivity-service.enabled": "false", "browser.safebrowsing.update.enabled": "false",
    "services.settings.server": '"data:,"',
}


class WebSocket:
    """The client's side of RFC 6455, for texts."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), timeout=TIME_LIMIT_S)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n"
            % (path, host, port, key)).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.take(1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError("no WebSocket: %r" % head)

    def take(self, n):
        while len(self.buffer) < n:
            part = self.socket.recv(1 << 16)
            if not part:
                raise RuntimeError("the browser is gone")
            self.buffer += part
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def send(self, data, kind=1):
        n, mask = len(data), os.urandom(4)
        size = struct.pack(">B", n | 0x80) if n < 126 else (
            struct.pack(">BH", 126 | 0x80, n) if n < 1 << 16 else struct.pack(">BQ", 127 | 0x80, n))
        masked = (int.from_bytes(data, "little")
                  ^ int.from_bytes((mask * (n // 4 + 1))[:n], "little")).to_bytes(n, "little")
        self.socket.sendall(bytes([0x80 | kind]) + size + mask + masked)

    def frame(self):
        first, size = self.take(2)
        n = size & 0x7F
        if n > 125:
            n = struct.unpack(*((">H", self.take(2)) if n == 126 else (">Q", self.take(8))))[0]
        return first & 0x80, first & 0x0F, self.take(n)

    def receive(self):
        text = b""
        while True:
            is_last, kind, data = self.frame()
            if kind == 9:  # a ping
                self.send(data, 10)
            elif kind < 3:
                text += data
                if is_last:
                    return text.decode()


def plain(value):
    """A value of BiDi as Python's."""
    kind = value["type"]
    if kind in ("undefined", "null"):
        return None
    if kind == "array":
        return [plain(item) for item in value["value"]]
    if kind == "object":
        return {key: plain(item) for key, item in value["value"]}
    return value.get("value")


class Firefox(Headless):
    def __init__(self, program):
        super().__init__("cuttle-firefox-")
        with open(os.path.join(self.profile, "user.js"), "w") as file:
            for name, value in PREFERENCES.items():
                file.write('user_pref("%s", %s);\n' % (name, value))
        self.start(
            [program, "--headless", "--no-remote", "--profile", self.profile,
             "--remote-debugging-port", "0"], stderr=subprocess.PIPE, universal_newlines=True,
            env=dict(os.environ, HOME=self.profile, MOZ_HEADLESS="1"))
        self.socket = WebSocket("127.0.0.1", self.port(), "/session")
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])

    def port(self):
        for line in self.process.stderr:
            found = re.search(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found.group(1))
        raise RuntimeError("Firefox does not listen")

    def send(self, message):
        self.socket.send(json.dumps(message).encode())

    def receive(self):
        return json.loads(self.socket.receive())

    @staticmethod
    def error_of(answer):
        return answer["message"] if answer["type"] == "error" else None

    def call(self, method, **params):
        return self.ask(method, params)

    def open(self, url):
        return FirefoxPage(self, url)

    def close(self):
        self.end("browser.close")

    def release(self):
        self.process.stderr.close()


class FirefoxPage:
    def __init__(self, browser, url):
        self.browser = browser
        self.url = url
        self.context = browser.call("browsingContext.create", type="tab")["context"]
        browser.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def promised(self, expression):
        """What an expression, or the promise that it is worth, comes to."""
        answer = self.browser.call(
            "script.evaluate", expression=expression, awaitPromise=True,
            target={"context": self.context}, serializationOptions={"maxObjectDepth": 20})
        if answer["type"] != "success":
            raise RuntimeError("%s: %s" % (expression[:200], answer["exceptionDetails"]["text"]))
        return plain(answer["result"])

    def value(self, expression):
        return self.promised(expression)

    def complaints(self):
        return [json.dumps(event["params"]) for event in self.browser.events
                if event.get("method") == "log.entryAdded"]
