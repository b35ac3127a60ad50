"""Writes 4000 texts to a file, each ended by a NUL, and after each what Python reads from it, as an expression of Lua
that ends by a NUL; nothing if the text is no JSON."""

import json
import random
import sys

R = random.Random(11)


def value(depth):
    kind = R.randrange(8 if depth < 5 else 6)
    if kind == 0:
        return R.choice([True, False, None])
    if kind == 1:
        return R.randrange(-10**15, 10**15)
    if kind == 2:
        return R.random() * 10 ** R.randrange(-300, 300)
    if kind == 3:
        return "".join(R.choice('ab"\\\n\t\u00e9\U0001f600/ \x7f') for _ in range(R.randrange(6)))
    if kind == 4:
        return R.choice([0, -0.0, 1e308, "", [], {}])
    if kind == 5:
        return R.randrange(100)
    if kind == 6:
        return [value(depth + 1) for _ in range(R.randrange(4))]
    return {"".join(R.choice("abc") for _ in range(3)): value(depth + 1) for _ in range(R.randrange(4))}


def damage(text):
    for _ in range(R.choice([0, 0, 1, 1, 2])):
        at = R.randrange(len(text) + 1)
        text = R.choice([text[:at] + R.choice('{}[],:"\\0e.-+ntu \x01') + text[at:],
                         text[:at] + text[at + 1:], text[:at] + text[at:at + 2] + text[at:]])
    return text


def refuse(_):
    raise ValueError


def lua(x):
    """An expression of Lua. Long integers are floats on both sides, because Lua's have 64 bits."""
    if x is None:
        return "null"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(x) if abs(x) < 2**63 else "F(%se0)" % x
    if isinstance(x, float):
        return "F(%s)" % repr(x).replace("inf", "1e999")
    if isinstance(x, str):
        return '"%s"' % "".join("\\%03d" % byte for byte in x.encode())
    if isinstance(x, list):
        return "{%s}" % ",".join(map(lua, x))
    return "{%s}" % ",".join("[%s]=%s" % (lua(k), lua(v)) for k, v in x.items())


def expected(text):
    try:
        return lua(json.loads(text, parse_constant=refuse))
    except ValueError:  # also halves of surrogate pairs, which are no UTF-8
        return ""


with open(sys.argv[1], "wb") as out:
    for _ in range(4000):
        text = damage(json.dumps(value(0), ensure_ascii=R.random() < 0.5, indent=R.choice([None, None, 1])))
        out.write(text.encode() + b"\0" + expected(text).encode() + b"\0")
