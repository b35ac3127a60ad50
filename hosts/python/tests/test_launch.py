"""Launches: grids and blocks, arguments, errors, threads, leaks."""

import ctypes as C
import io
import os
import signal
import sys
import tempfile
import threading
import time

import cuttle
import memory as m
from tap import done, fails, ok, same

SCRIPT = """
kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
kernel("shape", function(out)
  if threadIdx.x == 0 and threadIdx.y == 0 and threadIdx.z == 0 then
    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z
    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z
  end
end)
kernel("store", function(x, v) x[0] = cast(v, x.dtype) end)
kernel("types", function(out, a, b, c, d)
  out[0] = a.type == i32 and 32 or 64
end)
kernel("none", function(x, y, z) end)
kernel("many", function(x, ...)
  local sum = 0
  for _, v in ipairs{...} do sum = sum + v end
  x[0] = sum
end)
kernel("bad", function(x)

  x[0] = {}
end)
kernel("long", function(x)
  while x[0] == 0.0 do x[0] = 0.0 end
end)
function forever() while true do end end
print("loaded")
"""


class Broken:
    def write(self, text):
        raise ZeroDivisionError("the output is broken")


def print_to_broken():
    out, sys.stdout = sys.stdout, Broken()
    try:
        cuttle.loads("print 'one' print 'two'", device="cpu")
    finally:
        sys.stdout = out


def test_modules():
    out, sys.stdout = sys.stdout, io.StringIO()
    module = cuttle.loads(SCRIPT, name="@launch.lua", device="cpu")
    printed, sys.stdout = sys.stdout.getvalue(), out
    same(printed, "loaded\n", "what a script prints goes to sys.stdout")
    fails(ZeroDivisionError, "the output is broken", print_to_broken,
          "what sys.stdout raises is an error of the call")
    fails(ValueError, "memory_limit is -1", lambda: cuttle.loads("", memory_limit=-1),
          "a negative memory_limit")
    same(module.saxpy.name, "saxpy", "a kernel is an attribute")
    fails(AttributeError, "no kernel or function called 'nothing'", lambda: module.nothing, "another one is not")
    ok(not hasattr(module, "__array__"), "nor are names with underlines")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file.lua")
        with open(path, "w") as file:
            file.write('kernel("k", function() end)')
        same(repr(cuttle.load(path, device="cpu").k), f"<kernel k of '{path}'>", "load() takes a path")
        error = fails(cuttle.Error, "nowhere.lua", lambda: cuttle.load(os.path.join(folder, "nowhere.lua")),
                      "a missing file")
    with cuttle.loads('kernel("k", function() end)', device="cpu") as closing:
        k = closing.k
        k[1, 1]()
    fails(cuttle.Error, "is closed", lambda: k[1, 1](), "a closed module launches nothing")
    fails(TypeError, "comes from a script", lambda: type(k)(), "kernels cannot be made")
    error = fails(cuttle.Error, "unexpected symbol", lambda: cuttle.loads("x = = 1", name="=s"), "a syntax error")
    same((error.file, error.line), ("s", 1), "has its place")
    fails(cuttle.Error, "unknown", lambda: cuttle.loads("", device="gpu"), "an unknown device")
    fails(MemoryError, "not enough memory",
          lambda: cuttle.loads("local t = {} for i = 1, 1e9 do t[i] = {} end", memory_limit=16 << 20),
          "the memory limit")
    fails(cuttle.Error, "'io'", lambda: cuttle.loads("io.open('x')", sandbox=True), "the sandbox")
    fails(TypeError, "sandbox: 'no'; True or False was expected", lambda: cuttle.loads("", sandbox="no"),
          "a text as sandbox")
    same(module.call("rank", ("(4,8)",), None), [2], "functions of the language")
    return module


def test_grids(module):
    out = (C.c_int32 * 6)()
    x = m.New(out, "i32")
    module.shape[(2, 3, 4), (32, 2, 1)](x)
    same(list(out), [2, 3, 4, 32, 2, 1], "three extents")
    module.shape[5, (16,)](x)
    same(list(out), [5, 1, 1, 16, 1, 1], "one")
    launch = module.shape[7, 8]
    other = module.shape[9, 10]
    launch(x)
    same(list(out), [7, 1, 1, 8, 1, 1], "a launch that is kept stays as it is")
    other(x)
    same(list(out), [9, 1, 1, 10, 1, 1], "and so does the next")
    k = module.shape
    ok(k[3, 4] is k[3, 4], "the same grid and block make the same launch")
    for n in (1, 2, 3):
        k[n, 2](x)
        same(list(out)[0], n, f"a grid of {n}")
    k[0, 2](x)
    k[(4, 0), 2](x)
    same(list(out)[0], 3, "an empty grid runs nothing")
    fails(cuttle.Error, "takes 1 argument", lambda: k[0, 2](x, x), "but its arguments are looked at")
    same(repr(k[3, 4]), "<launch of kernel shape: grid (3, 1, 1), block (4, 1, 1)>", "its text")
    k.config(2, 2, smem=128)(x)
    same(list(out), [2, 1, 1, 2, 1, 1], "with options")
    fails(cuttle.Error, "cluster (3,1,1)", lambda: k.config(2, 2, cluster=3)(x), "a cluster that does not fit")
    fails(cuttle.Error, "never waits", lambda: k.config(2, 2, pdl=True)(x), "a launch that would not wait")
    fails(cuttle.Error, "leave one", lambda: k.config(2, 2, pdl=True, cooperative=True)(x), "two that do not go together")
    fails(TypeError, "config()", lambda: k.config(2, 2, blok=3), "an option that there is not")
    fails(TypeError, "config()", lambda: k.config(2), "a launch without a block")
    fails(ValueError, "smem: -1", lambda: k.config(2, 2, smem=-1), "fewer than no bytes")
    fails(ValueError, "smem: 4294967296", lambda: k.config(2, 2, smem=1 << 32), "bytes beyond 32 bits")
    fails(TypeError, "smem: '8'; an integer was", lambda: k.config(2, 2, smem="8"), "bytes as a text")
    fails(cuttle.Error, "dynamic shared memory", lambda: k.config(2, 2, smem=1 << 30)(x), "more than any device has")
    k.config(2, 2, deterministic=True, print_order="run", check=False)(x)
    race = cuttle.loads("race = kernel('race', function(x) x[threadIdx.x] = x[0] + 1 end)").race
    fails(cuttle.Error, "race: ", lambda: race.config(1, 6, check=True)(x), "a race that is checked for")
    race.config(1, 6, check={"global": False})(x)
    for name in ("pdl", "cooperative", "deterministic"):
        fails(TypeError, f"{name}: 'no'; True or False was expected", lambda: k.config(2, 2, **{name: "no"}),
              f"a text as {name}")
        fails(TypeError, f"{name}: None;", lambda: k.config(2, 2, **{name: None}), f"None as {name}")
    fails(ValueError, "print_order: 'any'", lambda: k.config(2, 2, print_order="any"), "an unknown order")
    fails(TypeError, "check: 1;", lambda: k.config(2, 2, check=1), "a check that is a number")
    fails(ValueError, "check: 'nam' is True", lambda: k.config(2, 2, check={"nam": True}), "an unknown check")
    fails(ValueError, "check: 'nan' is 1", lambda: k.config(2, 2, check={"nan": 1}), "a check that is no flag")
    fails(TypeError, "k[grid, block]", lambda: k[4], "no block")
    fails(TypeError, "an integer or a tuple", lambda: k["4", 4], "a text")
    fails(ValueError, "one to three", lambda: k[(1, 2, 3, 4), 4], "four extents")
    fails(ValueError, "grid: -1", lambda: k[-1, 4], "a negative extent")
    fails(cuttle.Error, "block (2048,1,1)", lambda: k[1, 2048](x), "too many threads")
    fails(TypeError, "write shape[grid, block]", lambda: k(x), "no grid")


def test_arguments(module):
    store, out = module.store, (C.c_double * 1)()
    x = m.New(out, "f64")
    for value, want in ((3, 3.0), (-2, -2.0), (1 << 40, float(1 << 40)), (0.5, 0.5), (True, 1.0)):
        store[1, 1](x, value)
        same(out[0], want, f"{value!r}")
    store[1, 1](x, 0.1)
    same(out[0], 0.1, "a float takes the type that it meets")
    store[1, 1](x, cuttle.f64(0.1))
    same(out[0], 0.1, "f64() makes it one of 64 bits")
    store[1, 1](x, cuttle.static(7))
    same(out[0], 7.0, "static()")
    store[1, 1](x, cuttle.i64(9))
    same(out[0], 9.0, "i64()")

    class Index:
        def __index__(self):
            return 12

    class Real:
        def __float__(self):
            return 0.25

    store[1, 1](x, Index())
    same(out[0], 12.0, "an object with __index__")
    store[1, 1](x, Real())
    same(out[0], 0.25, "one with __float__")
    fails(OverflowError, "64 bits", lambda: store[1, 1](x, 1 << 70), "an integer of 71 bits")
    own = cuttle.loads("""
local cosizes = kernel("cosizes", function(x, l) x[0] = cosize(l) end)
function run(x, l) cosizes{grid = 1, block = 1}(x, l) end
part_of = kernel("part_of", function(x, l, at, what)
  if what == "value" then x[0] = l(at[2][1]) else x[0] = #what + rank(at) end
end)
""", device="cpu")
    own.call("run", (x, cuttle.Layout("(4,8):(9,1)")), None)
    same(out[0], 35.0, "a function of the script passes a layout on")
    for l, at, what, want in ((cuttle.Layout("(4,8):(9,1)"), (5, (4, 3)), "value", 1.0),
                              (cuttle.Layout("(4,8):(1,40)"), (5, (4, 3)), "value", 40.0),
                              (cuttle.Layout("(4,8):(1,40)"), (5, (9, 3)), "value", 81.0),
                              (cuttle.Layout((4, 8)), (5, 6, 7), "abc", 6.0),
                              (cuttle.Layout("(4,8):(9,1)"), (5, (4, 3)), "value", 1.0)):
        own.part_of[1, 1](x, l, at, what)
        same(out[0], want, f"the constants {l}, {at} and {what}")
    launch, number = own.part_of[1, 1], cuttle.Layout("(4,8):(1,40)")
    for _ in range(3):
        launch(x, number, (5, (8, 3)), "value")
    same(out[0], 80.0, "constants again and again")
    fails(TypeError, "argument 3 is (5, 'a'); a tuple of integers", lambda: launch(x, number, (5, "a"), "value"),
          "a tuple with a text")
    fails(ValueError, "null", lambda: launch(x, number, (5, 6), "a\0b"), "a text with a byte of 0")
    deep = ()
    for _ in range(100000):
        deep = (deep,)
    fails(RecursionError, "", lambda: launch(x, number, deep, "value"), "a tuple that is too deep")
    fails(cuttle.Error, "argument 1 (x) of the launch is nil", lambda: store[1, 1](None, 1), "None")
    fails(TypeError, "store(x, v): there is no parameter 'w'", lambda: store[1, 1](x, w=1), "a name that is none")
    fails(cuttle.Error, "takes 2 arguments (x, v), got 1", lambda: store[1, 1](x), "too few arguments")
    same(repr(cuttle.static(7)), "static(7)", "the text of a constant")
    module.many[1, 1](x, *range(100))
    same(out[0], 4950.0, "a hundred arguments")
    launch = module.store[1, 1]
    launch.__call__(*(x, 5))
    same(out[0], 5.0, "a call with a tuple")


def test_errors(module):
    x = m.New(m.floats(1.0), "f32")
    error = fails(cuttle.Error, "launch.lua:", lambda: module.bad[1, 1](x), "an error in a kernel")
    same((error.file, error.line), ("launch.lua", SCRIPT[:SCRIPT.index("x[0] = {}")].count("\n") + 1), "has file and line")
    ok(isinstance(error, RuntimeError), "and is a RuntimeError")
    error = fails(cuttle.Error, "takes 1 argument", lambda: module.bad[1, 1](), "an error of a call")
    same((error.file, error.line), (None, None), "has none")
    module.none[1, 1](x, x, x)
    ok(True, "the module goes on")


def test_threads(module):
    n, each = 4, 200
    total = (C.c_float * 64)()
    ones = (C.c_float * 64)(*([1.0] * 64))
    k, x, y = module.saxpy, m.New(ones, "f32"), m.New(total, "f32")

    def work():
        for _ in range(each):
            k[1, 64](1.0, x, y)

    threads = [threading.Thread(target=work) for _ in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    same(list(total), [float(n * each)] * 64, "threads take turns in one module")
    modules = [cuttle.loads(SCRIPT.replace('print("loaded")', ""), device="cpu") for _ in range(n)]
    sums = [(C.c_float * 64)() for _ in range(n)]

    def own(i):
        mine, to = modules[i].saxpy, m.New(sums[i], "f32")
        for _ in range(each):
            mine[1, 64](1.0, x, to)

    threads = [threading.Thread(target=own, args=(i,)) for i in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    ok(all(list(s) == [float(each)] * 64 for s in sums), "and run at a time in modules of their own")


def test_gil(module):
    """A kernel that never ends, until another thread of Python interrupts it."""
    x = m.New(m.floats(0.0), "f32")
    ticks = []

    def stop():
        for _ in range(5):
            time.sleep(0.02)
            ticks.append(1)
        module.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    fails(cuttle.Error, "interrupted", lambda: module.long[1, 1](x), "a call is interrupted by another thread")
    thread.join()
    same(len(ticks), 5, "which ran while the call waited")
    module.none[1, 1](x, x, x)
    ok(True, "the module goes on")


def test_signals(module):
    """Ctrl-C stops a kernel, and Python's own handler is what raises."""
    x = m.New(m.floats(0.0), "f32")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not so in a background job of a shell
    before = signal.getsignal(signal.SIGINT)
    for call, what in ((lambda: module.long[1, 1](x), "a kernel"),
                       (lambda: module.run("while true do end", "=loop"), "a script"),
                       (lambda: module.call("forever", (), None), "a function")):
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        fails(KeyboardInterrupt, "", call, f"Ctrl-C stops {what}")
        timer.join()
    ok(signal.getsignal(signal.SIGINT) is before, "the handler is Python's again")
    module.none[1, 1](x, x, x)
    ok(True, "the module goes on")


def test_leaks(module):
    x, k = m.Exchanging(m.floats(*range(64)), "f32"), module.none
    bad = module.bad

    def rounds(n):
        for i in range(n):
            k[1, 32](x, x, x)
            k[1, 32](x, x, 1.5)
            if i % 100 == 0:
                try:
                    bad[1, 1](x)
                except cuttle.Error:
                    pass

    before_objects = sys.getrefcount(x)
    rounds(2000)
    before = m.rss() if m.has_proc() else 0
    rounds(10000)
    after = m.rss() if m.has_proc() else 0
    ok(after - before < 2000, "20000 calls need no more memory", f"{before} to {after} KiB")
    same(sys.getrefcount(x), before_objects, "and hold no arguments")


module = test_modules()
test_grids(module)
test_arguments(module)
test_errors(module)
test_threads(module)
test_gil(module)
test_signals(module)
test_leaks(module)
done()
