"""held.py: a module that another thread is in, for tests of what other threads may do meanwhile."""

import contextlib
import sys
import threading

import cuttle


class _Told:
    """Standard output that says when something is written to it."""

    def __init__(self):
        self.event = threading.Event()

    def write(self, text):
        self.event.set()


@contextlib.contextmanager
def held(module, body=""):
    """In its block a thread runs a loop of `body` in the module; the call is interrupted at the end."""

    def hold():
        try:
            module.run("print 'inside' while true do %s end" % body, "=hold")
        except cuttle.Error:
            pass

    told = _Told()
    out, sys.stdout = sys.stdout, told
    thread = threading.Thread(target=hold)
    thread.start()
    told.event.wait()
    sys.stdout = out
    try:
        yield
    finally:
        module.interrupt()
        thread.join()
