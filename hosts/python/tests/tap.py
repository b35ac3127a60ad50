"""Checks that print TAP, as tests/c/tap.h does for C."""

import sys
import traceback

_run = 0
_failed = 0


def ok(passed, name, note=None):
    global _run, _failed
    _run += 1
    print(f"{'' if passed else 'not '}ok {_run} - {name}", flush=True)
    if not passed:
        _failed += 1
        for line in str(note).split("\n") if note is not None else ():
            print(f"# {line}")
    return passed


def same(got, want, name):
    return ok(got == want and type(got) is type(want), name, f"got:      {got!r}\nexpected: {want!r}")


def fails(kind, text, function, name):
    """Calls the function, which must raise; returns the exception."""
    try:
        function()
    except kind as error:
        ok(text in str(error), name, f"got:    {error}\nwanted: {text}")
        return error
    except BaseException:
        ok(False, name, traceback.format_exc())
        return None
    ok(False, name, f"no error; expected {kind.__name__}: {text}")
    return None


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def done():
    print(f"1..{_run}")
    sys.exit(0 if _failed == 0 else 1)
