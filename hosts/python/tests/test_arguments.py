"""What a caller may give by mistake: each place of a call says what it expected, and takes nothing for another value."""

import math

import cuttle
import memory as m
from tap import done, fails, ok, same

module = cuttle.loads("""
kernel("set", function(n, x) x[0] = n end)
kernel("flag", function(b, x) if b then x[0] = 1 end end)
function all(...) return ... end
function grown(list, t) return #list, t end
""", device="cpu")
x = m.New((m.C.c_int32 * 2)(), "i32")
INTEGER = "an integer"


def test_numbers():
    for value in True, 1.5, None:
        fails(TypeError, f"argument 1 is static({value!r}); an integer was expected",
              lambda: module.set[1, 1](cuttle.static(value), x), f"no constant {value}")
    fails(TypeError, "argument 1 is f64('1'); a number", lambda: module.set[1, 1](cuttle.f64("1"), x), "no f64")
    message = fails(OverflowError, "pass n - 2**64, and write cast(n, u64)",
                    lambda: module.set[1, 1](2**63, x), "what a u64 holds")
    ok("18446744073709551616" not in str(message), "and no other advice")
    for n in 2**64, -2**63 - 1:
        message = fails(OverflowError, "integers of kernels have 64 bits", lambda: module.set[1, 1](n, x), "nor more")
        ok("cast" not in str(message), "without advice that would be wrong", message)


def test_extents():
    k = module.set
    for what, launch in (("grid", lambda n: k[n, 1]), ("block", lambda n: k[1, n]), ("grid", lambda n: k[(1, n), 1]),
                         ("smem", lambda n: k.config(1, 1, smem=n)), ("cluster", lambda n: k.config(1, 1, cluster=n))):
        for n in -1, 2**31, 2**64:
            fails(ValueError, f"{what}: {n}; an integer from 0 to 2^31 - 1", lambda: launch(n), f"{what} of {n}")
        for n in True, 1.0, "1":
            fails(TypeError, f"{what}: {n!r}; {INTEGER}", lambda: launch(n), f"{what} of {n!r}")
    fails(TypeError, "stream: 'x'; a stream of PyTorch or CuPy", lambda: k.config(1, 1, stream="x"), "a stream")
    for n in -1, 1.5, 2**70, True:
        fails(ValueError, f"memory_limit is {n}", lambda: cuttle.loads("", memory_limit=n), f"a limit of {n}")


class Changing(list):
    """A list whose items are made when somebody asks, so that nobody else holds them."""

    def __getitem__(self, i):
        return ["item %d" % (1000 + i), 2.5]


class Clearing(m.New):
    """Empties a list and a dict while it is read."""

    def __dlpack__(self, **options):
        self.list.clear()
        self.dict.clear()
        return super().__dlpack__(**options)


def test_containers():
    same(module.all(Changing([1, 2])), [["item 1000", 2.5], ["item 1001", 2.5]], "items that nobody else holds")
    t = Clearing((m.C.c_float * 2)(1, 2), "f32")
    t.list, t.dict = [t, "after" * 100], {"t": t, "more": "text" * 100}
    fails(IndexError, "", lambda: module.all(t.list), "a list that its own item empties")
    t.list, t.dict = [], {"t": t, "more": "text" * 100}
    same(module.all(t.dict)["more"], "text" * 100, "a dict is read as it was")
    for key in None, math.nan:
        fails(TypeError, f"a dict has the key {key!r}", lambda: module.all({key: 1}), f"a key {key}")
    same(module.all({"a": None, "b": 1}), {"b": 1}, "a value None is absent")


def test_names():
    for name in "all\0more", "set\0more":
        fails(ValueError, "null byte", lambda: module.call(name), "a function's name with a byte 0")
        fails(ValueError, "null byte", lambda: module.kernel(name), "a kernel's")
    fails(TypeError, "an element type", lambda: cuttle.view_as(x, None), "no element type")


def test_tensors():
    memory = (m.C.c_char * 16)()
    odd = m.New((m.C.c_int32 * 3).from_buffer(memory, 2), "i32")
    for name, call in (("a launch", lambda: module.set[1, 1](1, odd)), ("a function", lambda: module.all(odd))):
        text = "is not a multiple of 4, the bytes of an element of i32"
        error = fails(cuttle.Error, text, call, f"an odd address in {name}")
        ok("cuttle_" not in str(error), f"without a name of cuttle.h in {name}", str(error))
    one, none = m.New((m.C.c_int32 * 2)(), "i32", (1, 2), (-2, 1)), m.New((m.C.c_int32 * 2)(), "i32", (0, 2), (-2, 1))
    for n in range(3):
        module.set[1, 1](n, one)
        module.flag[1, 1](False, none)
    same((list(one.array), module.all(one).shape), ([2, 0], (1, 2)), "the stride of one element leads nowhere")
    two = m.New((m.C.c_int32 * 2)(), "i32", (2,), (-1,))
    fails(ValueError, "has stride -1", lambda: module.all(two), "that of two elements does")
    empty = module.all(m.New((m.C.c_float * 2)(), "f32", (0,)))
    same((type(empty), empty.shape), (cuttle.Tensor, (0,)), "an empty tensor comes back as a tensor")
    made = module.call("zeros", ("f32", 2))[0]
    fails(BufferError, "stays on its own device", lambda: made.__dlpack__(dl_device=(2, 0)), "another device")
    ok(made.__dlpack__(dl_device=(1, 0)) is not None, "its own one")
    for call in (lambda: cuttle.matmul(None, made), lambda: cuttle.attention(made, [1], made),
                 lambda: cuttle.attention_decode(made, made, 3), lambda: cuttle.packed.pack_weights(None, made),
                 lambda: cuttle.experts.expert_layer(made, 1, made, None)):
        fails(TypeError, "a tensor was expected", call, "an operator of what is no tensor")
    fails(TypeError, "a PackedWeight was expected", lambda: cuttle.packed.matmul(made, made), "a weight that is none")
    q = module.call("zeros", ("f16", [1, 1, 64, 64]))[0]
    fails(cuttle.Error, "attention: window is of type number", lambda: cuttle.attention(q, q, q, window=3),
          "a window of one number")


def test_places():
    """Messages of operators have no place in a script: the caller wrote none."""
    for call in (lambda: cuttle.rows.softmax(1), lambda: cuttle.selections.scan(x, "plus"),
                 lambda: cuttle.packed.quantize_weights(x, "u5"), lambda: cuttle.experts.route(x, 0)):
        error = fails(cuttle.Error, ": ", call, "a wrong call of an operator")
        same((error.file, error.line), (None, None), f"{error}")


test_numbers()
test_extents()
test_containers()
test_names()
test_tensors()
test_places()
done()
