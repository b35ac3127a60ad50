"""Tensors that functions of the language return: their memory, and who holds it."""

import ctypes as C
import gc
import math
import sys
from fractions import Fraction

import cuttle
import memory as m
from held import held
from tap import done, fails, ok, same

SCRIPT = """
kernel("add", function(x) local i = threadIdx.x if i < size(x) then x[i] = x[i] + 1 end end)
kept = ones(i32, 5)
function get() return kept end
function made(n) local t = zeros(f32, {n, 3}) t[1] = 7 return t end
function same_one(t) return t end
function row(t, i) return t(i, _) end
function several(t) return t, 3, "text", layout "4:1", nil end
function none() end
function scaled(x, options) return options.factor * x end
function table_of(t)
  return {rows = t, names = {"a", "b", {1.5}}, [7] = true, none = {}}, {}, layout "4:1"
end
function endless() local t = {} t[1] = t return t end
function hostile() return {1, setmetatable({}, {__tostring = function() error "no text" end})} end
function nested() return zeros(f32, L"(4,(2,3)):(1,(16,4))"), zeros(f32, L"(4,(2,3)):(6,(1,2))") end
function many() local list = {} for i = 1, 40 do list[i] = zeros(f32, 1000) end return table.unpack(list) end
doubled = row_kernel("doubled", function(row, x) return 2 * x end)
function forget() kept = nil collectgarbage() collectgarbage() end
"""

module = cuttle.loads(SCRIPT, device="cpu")


def view(t, kind=C.c_float):
    """The elements of a tensor without gaps, by NumPy's interface."""
    n = 1
    for extent in t.shape:
        n *= extent
    return (kind * n).from_address(t.__array_interface__["data"][0])


def test_fields():
    t = module.made(2)
    ok(isinstance(t, cuttle.Tensor), "a function of the script is an attribute, and returns a tensor", t)
    same((t.shape, t.strides, t.dtype, t.device), ((2, 3), (1, 2), "f32", "cpu"), "what it is")
    same(list(view(t)), [0.0, 7.0, 0.0, 0.0, 0.0, 0.0], "and its elements")
    same(repr(t), "<cuttle.Tensor f32 (2, 3) on cpu>", "its text")
    same(t.__dlpack_device__(), (1, 0), "its device")
    ok("dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 0))), "a capsule with a version")
    ok('"dltensor"' in repr(t.__dlpack__()), "and one without")
    fails(BufferError, "no copies", lambda: t.__dlpack__(copy=True), "no copy")
    same(t.__array_interface__["strides"], (4, 8), "strides are bytes in NumPy's interface")
    same([x.shape for x in module.nested()], [(4, 2, 3), (4, 6)], "modes of modes")
    same([x.strides for x in module.nested()], [(1, 16, 4), (6, 1)], "as few as can say them")
    ok(not hasattr(module.call("zeros", ("bf16", 4))[0], "__array_interface__"), "NumPy has no bf16")
    fails(TypeError, "comes from a function", lambda: cuttle.Tensor(), "tensors cannot be made")


def test_values():
    t, three, text, layout, nothing = module.several(m.New(m.floats(1, 2), "f32"))
    same((three, text, layout, nothing), (3, "text", ("layout", "4:1"), None), "other results")
    same(module.none(), None, "no result")
    table, empty, layout = module.table_of(m.New(m.floats(1, 2), "f32"))
    ok(isinstance(table.pop("rows"), cuttle.Tensor), "a tensor in a table")
    same(table, {"names": ["a", "b", [1.5]], 7: True, "none": []}, "tables are lists and dictionaries")
    same((empty, layout), ([], ("layout", "4:1")), "an empty one, and a layout after it")
    fails(ValueError, "nested too deeply", module.endless, "a table in itself")
    fails(cuttle.Error, "no text", module.hostile, "a value without a text")
    same(module.call("same_one", [5]), [5], "a list of arguments")
    same(module.call("none"), [], "no arguments")
    fails(TypeError, "args: 'abc'", lambda: module.call("same_one", "abc"), "a text in place of arguments")
    fails(TypeError, "args: None", lambda: module.call("same_one", None), "nothing in place of them")
    fails(cuttle.Error, "there is no function 'nothing'", lambda: module.call("nothing"), "an unknown function")
    fails(ValueError, "null byte", lambda: module.call("none\0"), "a name with a 0 in it")
    fails(cuttle.Error, "'math' is a table", lambda: module.call("math"), "what is no function")
    fails(ValueError, "null", lambda: module.kernel("k\0"), "a kernel's name with a 0 in it")
    fails(TypeError, "kernel: 3", lambda: module.kernel(3), "a kernel's name that is a number")
    fails(OverflowError, "64 bits", lambda: module.call("same_one", [1 << 70]), "an integer of 70 bits")
    same(module.call("same_one", [Fraction(1, 2)]), [0.5], "a number of another type, as for kernels")
    module.run("function later() return 1 end")
    same(module.later(), 1, "more text")
    same(module.call("scaled", (3,), {"factor": 2}), [6], "options")
    same(module.scaled(3, factor=2), 6, "as names")
    ok("function made" in repr(module.made), "the text of a function")
    same(list(view(module.doubled(m.New(m.floats(1, 2), "f32")))), [2.0, 4.0], "a row_kernel is called as a function is")
    fails(AttributeError, "no kernel or function called 'nowhere'", lambda: module.nowhere, "neither kernel nor function")
    fails(AttributeError, "; did you mean 'add'?", lambda: module.ad, "a name that is nearly one")


def test_kernels():
    t = module.made(1)
    module.add[1, 32](t)
    same(list(view(t)), [1.0, 8.0, 1.0], "a kernel takes it")
    again = module.same_one(t)
    module.add[1, 32](again)
    same(list(view(t)), [2.0, 9.0, 2.0], "and so do functions")


def test_memory():
    array = m.floats(*range(12))
    before = sys.getrefcount(array)
    lent = m.New(array, "f32", (3, 4), (4, 1))
    row = module.row(lent, 1)
    same(list(view(row)), [4.0, 5.0, 6.0, 7.0], "a part of an argument looks at its memory")
    del lent
    gc.collect()
    view(row)[0] = 40.0
    same(array[4], 40.0, "which it holds")
    del row
    gc.collect()
    same(sys.getrefcount(array), before, "no longer than it lives")
    fails(BufferError, "read-only", lambda: module.same_one(m.New(array, "f32", flags=m.READ_ONLY)).__dlpack__(),
          "read-only memory stays so")

    kept = module.get()
    view(kept, C.c_int32)[0] = 42
    same(list(view(module.get(), C.c_int32)), [42, 1, 1, 1, 1], "the script's tensor is shared")
    module.forget()
    same(list(view(kept, C.c_int32)), [42, 1, 1, 1, 1], "and lives as long as Python has it")


def test_close():
    closing = cuttle.loads(SCRIPT, device="cpu")
    t = closing.made(2)
    capsule = t.__dlpack__()
    closing.close()
    same(view(t)[1], 7.0, "memory outlives close()")
    fails(cuttle.Error, "is closed", lambda: closing.call("none", ()), "the module does not")
    ok(not hasattr(closing, "nowhere"), "it has no attributes")
    del t, closing
    gc.collect()
    ok("dltensor" in repr(capsule), "a capsule holds it, too")
    del capsule
    gc.collect()


def test_threads():
    """Tensors go in one thread while another one is in a call."""
    tensors = [list(module.many()) for _ in range(20)]
    with held(module, "local t = zeros(f32, 100)"):
        tensors.clear()
        gc.collect()
    same(len(module.many()), 40, "tensors that go during a call")
    if m.has_proc():
        for _ in range(100):
            module.many()
        before = m.rss()
        for _ in range(500):
            module.many()
        ok(m.rss() - before < 4000, "results need no more memory", f"{before} to {m.rss()} KiB")


def test_operators():
    """A library that we cannot make tensors of."""
    a = m.New(m.floats(*[1.0] * 6), "f32", (2, 3), (3, 1))
    b = m.New(m.floats(*range(12)), "f32", (3, 4), (4, 1))
    a.dtype, b.dtype = "float32", "float32"
    c = cuttle.matmul(a, b)
    same((type(c), c.shape), (cuttle.Tensor, (2, 4)), "matmul without out= returns a tensor of the language")
    got = view(c)
    same([got[j * c.strides[1]] for j in range(4)], [12.0, 15.0, 18.0, 21.0], "which is right")
    a = m.New(m.floats(*[1.0] * 6, *[2.0] * 6), "f32", (2, 2, 3), (6, 3, 1))
    a.dtype = "float32"
    c = cuttle.matmul(a, b)
    same((c.shape, c.strides), ((2, 2, 4), (8, 4, 1)), "in batches")
    same(list(view(c))[8:], [24.0, 30.0, 36.0, 42.0] * 2, "each of them")
    q = m.New(m.floats(*[1.0] * 32), "f32", (1, 1, 2, 16), (32, 32, 16, 1))
    o, lse = cuttle.attention(q, q, q, lse=True)
    same((o.shape, list(view(o))), ((1, 1, 2, 16), [1.0] * 32), "attention")
    same((lse.shape, lse.dtype), ((1, 1, 2), "f32"), "with the logarithms of its sums")
    ok(all(abs(v - 4.6931472) < 1e-6 for v in view(lse)), "which are right", list(view(lse)))
    v = m.New(m.floats(*[1.0] * 16, *[3.0] * 16), "f32", (1, 1, 2, 16), (32, 32, 16, 1))
    o, lse = cuttle.attention(q, q, v, lse=True, window=(0, 0), softcap=2.0)
    same(list(view(o)), [1.0] * 16 + [3.0] * 16, "a window of the query's own place")
    ok(all(abs(x - 2 * math.tanh(2)) < 1e-6 for x in view(lse)), "a soft-cap", list(view(lse)))
    o, lse = cuttle.attention(q, q, v, lse=True, documents=[1, 1], sinks=[4.0], alibi=[0.5])
    same(list(view(o)), [0.5] * 16 + [1.5] * 16, "documents, and a sink as large as the score")
    ones = m.New(m.floats(*[1.0] * 32), "f32", (1, 1, 2, 16), (32, 32, 16, 1))
    made = cuttle.attention_backward(ones, q, q, v, o, lse, documents=[1, 1], sinks=[4.0], alibi=[0.5])
    same(list(view(made[2])), [0.5] * 32, "the gradient of v")
    o = cuttle.attention(q, q, v, dropout=0.0)
    same(list(view(o)), list(view(cuttle.attention(q, q, v))), "a dropout of nothing")
    o, lse = cuttle.attention(q, q, v, lse=True, dropout=0.5, seed=1)
    ok(set(view(o)) <= {0.0, 1.0, 3.0, 4.0}, "a dropout", list(view(o)))
    made = cuttle.attention_backward(ones, q, q, v, o, lse, dropout=0.5, seed=1)
    ok(set(view(made[2])) <= {0.0, 1.0, 2.0}, "and its gradient", list(view(made[2])))
    given = module.made(2)
    same(cuttle.attention(q, q, q, lse=m.New(m.floats(0, 0), "f32", (1, 1, 2), (2, 2, 1)))[0].shape, (1, 1, 2, 16),
         "into a tensor that is given")
    left = m.New(m.floats(*[1.0] * 4), "f32", (2, 2), (2, 1))
    ok(cuttle.matmul(left, m.New(m.floats(*[1.0] * 6), "f32", (2, 3), (3, 1)), given) is given, "out= is the result")


test_fields()
test_values()
test_kernels()
test_memory()
test_close()
test_threads()
test_operators()
done()
