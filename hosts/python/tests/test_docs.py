"""The examples of docs/python.md: each ```python block runs, and the plain block after it is what it prints."""

import contextlib
import io
import os
import traceback

from tap import done, same, skip_all

try:
    import numpy  # noqa: F401
except ImportError:
    skip_all("no NumPy here")

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "python.md")


def blocks(text):
    """(line, fence, body) for each fenced block."""
    fence, body, first = None, [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("```"):
            body.append(line)
        elif fence is None:
            fence, body, first = line[3:], [], number
        else:
            yield first, fence, "\n".join(body)
            fence = None


def run(code, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, names)
        except Exception:
            out.write(traceback.format_exc())
    return out.getvalue()


names, previous = {}, None
found = list(blocks(open(PAGE, encoding="utf-8").read()))
for i, (line, fence, body) in enumerate(found):
    if fence == "python":
        is_answered = i + 1 < len(found) and found[i + 1][1] == "" and found[i + 1][0] == line + body.count("\n") + 3
        want = found[i + 1][2] + "\n" if is_answered else ""
        same(run(body, names), want, f"python.md:{line}")
done()
