"""tap.py: results of tests as TAP."""

import traceback

count = 0


def check(name, got, want):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if got == want else "not ok", count, name), flush=True)
    if got != want:
        print("# got: %r\n# expected: %r" % (got, want), flush=True)


def note_failure(name):
    """Of a test that has raised: it has failed."""
    check(name + " runs to its end", "stopped", "ended")
    for line in traceback.format_exc().splitlines():
        print("# " + line, flush=True)


def finish():
    print("1..%d" % count)
