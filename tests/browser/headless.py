"""headless.py: a browser without a window in a profile of its own. A program sends it commands and reads
answers and events: JSON, with an id in each command and its answer. devtools.py and bidi.py are the two
protocols. They define send, receive, error_of and release."""

import os
import shutil
import signal
import subprocess
import tempfile


class Headless:
    def __init__(self, prefix):
        self.profile = tempfile.mkdtemp(prefix=prefix)
        self.last_id = 0
        self.events = []

    def start(self, arguments, **options):
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            **options)

    def ask(self, method, params, **more):
        """Sends a command and waits for its answer; events that come before it are kept."""
        self.last_id += 1
        self.send(dict(more, id=self.last_id, method=method, params=params))
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                break
            self.events.append(answer)
        error = self.error_of(answer)
        if error:
            raise RuntimeError("%s: %s" % (method, error))
        return answer["result"]

    def end(self, method):
        """Ends the browser and all that it started: they are one process group."""
        try:
            self.ask(method, {})
            self.process.wait(timeout=20)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.release()
        shutil.rmtree(self.profile, ignore_errors=True)
