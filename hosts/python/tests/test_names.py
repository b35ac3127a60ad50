"""Names of parameters: arguments by name, signatures, grids that depend on arguments, stubs."""

import ctypes as C
import functools
import inspect
import sys

import cuttle
import memory as m
from cuttle.signature import stub
from tap import done, fails, ok, same

SCRIPT = """
kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
kernel("count", function(x, from, ...)
  x[0] = select("#", ...)
  x[1] = from
end)
kernel("biased", function(x, bias, y) y[0] = bias and x[0] + bias[0] or x[0] end)
kernel("blocks", function(x) x[0] = gridDim.x; x[1] = gridDim.y end)
"""

module = cuttle.loads(SCRIPT, name="@names.lua", device="cpu")
saxpy = module.saxpy


def floats(*values):
    return m.New(m.floats(*values), "f32")


def test_none():
    x, bias, y = floats(1.0), floats(4.0), floats(0.0)
    for b, want in ((None, 1.0), (None, 1.0), (bias, 5.0), (None, 1.0), (bias, 5.0)):
        module.biased[1, 1](x, b, y)
        same(y.array[0], want, "None is for what the kernel tests for nil")
    module.biased[1, 1](x=x, bias=None, y=y)
    same(y.array[0], 1.0, "by name, too")
    fails(cuttle.Error, "x", lambda: module.biased[1, 1](None, None, y), "what the kernel needs is not nil")


def test_modules():
    ok(cuttle.rows.softmax is not None, "modules need no import of their own")
    ok({"experts", "packed", "rows", "selections", "torch"} <= set(dir(cuttle)), "dir() has them")
    fails(AttributeError, "no attribute 'softmx'", lambda: cuttle.softmx, "a name that nothing has")


def test_device():
    import os
    before = os.environ.get("CUTTLE_DEVICE")
    os.environ["CUTTLE_DEVICE"] = "gpu"
    fails(cuttle.Error, "CUTTLE_DEVICE: device: 'gpu' is unknown; auto, cpu,", lambda: cuttle.loads("x = 1"),
          "a device of the environment that nobody knows")
    ok(cuttle.loads("x = 1", device="cpu") is not None, "is not asked where another one is named")
    os.environ.pop("CUTTLE_DEVICE")
    if before is not None:
        os.environ["CUTTLE_DEVICE"] = before


def test_identity():
    ok(module.saxpy is saxpy, "an attribute is the same kernel each time")
    ok(module.kernel("saxpy") is saxpy, "also as kernel(name)")
    module.run('kernel("again", function(x) x[0] = 1 end)', "=one")
    old = module.again
    module.run('kernel("again", function(x) x[0] = 2 end)', "=two")
    ok(module.again is not old, "a kernel that the script defines anew is another one")
    x = floats(0.0)
    old[1, 1](x)
    same(list(x.array), [1.0], "and the old one stays as it is")


def test_arguments():
    x, y = floats(1.0, 2.0), floats(10.0, 20.0)
    saxpy[1, 32](2.0, y=y, x=x)
    same(list(y.array), [12.0, 24.0], "arguments by name, in any order")
    saxpy[1, 32](x=x, y=y, a=1.0)
    same(list(y.array), [13.0, 26.0], "all of them")
    functools.partial(saxpy[1, 32], 1.0)(x=x, y=y)
    same(list(y.array), [14.0, 28.0], "and by a caller without vectorcall")
    saxpy[1, 32].__call__(1.0, x, y=y)
    same(list(y.array), [15.0, 30.0], "or another one")
    for call, text in ((lambda: saxpy[1, 32](1.0, x, z=y), "saxpy(a, x, y): there is no parameter 'z'"),
                       (lambda: saxpy[1, 32](1.0, x, a=1.0), "two values for parameter 'a'"),
                       (lambda: saxpy[1, 32](x=x, y=y), "no value for parameter 'a'; None stands for one that the kernel does without")):
        fails(TypeError, text, call, text)
    counted = floats(0.0, 0.0)
    module.count[1, 1](counted, from_=3)
    same(list(counted.array), [0.0, 3.0], "a name that is a keyword of Python ends with an underline")
    module.count[1, 1](counted, 2, 1, 1, 1)
    same(list(counted.array), [3.0, 2.0], "further arguments have no names")
    before = sys.getrefcount(x)
    for _ in range(1000):
        saxpy[1, 32](0.0, y=y, x=x)
        try:
            saxpy[1, 32](0.0, x, x=x)
        except TypeError:
            pass
    same(sys.getrefcount(x), before, "arguments by name are not kept")


def test_grids():
    x = floats(0.0, 0.0)
    seen = []

    def grid(arguments):
        seen.append(sorted(arguments))
        return arguments["x"].tensor.shape[0], 3

    module.blocks[grid, 1](x)
    same((list(x.array), seen), ([2.0, 3.0], [["x"]]), "a grid that depends on the arguments")
    module.blocks.config(grid=lambda arguments: 5, block=1)(x=x)
    same(list(x.array), [5.0, 1.0], "of config, and by name")
    module.blocks[lambda arguments: 0, 1](x)
    same(list(x.array), [5.0, 1.0], "one without blocks launches nothing")
    module.blocks[7, 1](x)
    same(list(x.array), [7.0, 1.0], "the next grid is a number again")
    fails(TypeError, "grid: 'a'", lambda: module.blocks[lambda arguments: "a", 1](x), "a grid that is none")
    fails(KeyError, "'n'", lambda: module.blocks[lambda arguments: arguments["n"], 1](x), "what it raises")
    ok("function" in repr(module.blocks[grid, 1]), "repr() shows it")


def test_signatures():
    same(str(inspect.signature(saxpy)), "(a, x, y)", "the signature of a kernel")
    same(str(inspect.signature(saxpy[1, 1])), "(a, x, y)", "and of a launch")
    same(str(inspect.signature(module.count)), "(x, from_, *args)", "with further arguments")
    ok(saxpy.__doc__.startswith("saxpy(a, x, y)\n"), "the docstring begins with it", saxpy.__doc__)
    same(module.kernel_names(), ["again", "biased", "blocks", "count", "saxpy"], "the names of all kernels")
    ok({"saxpy", "run"} <= set(dir(module)), "dir() has them")
    text = stub(module)
    ok("def __call__(self, a: Any, x: Any, y: Any) -> None: ..." in text, "stubs have the parameters", text)
    ok("    saxpy: saxpy_kernel\n" in text, "and the kernels", text)
    compile(text, "stub.pyi", "exec")
    with cuttle.loads('kernel("k", function(a) end)', device="cpu") as closing:
        k = closing.k
    fails(cuttle.Error, "is closed", lambda: k[1, 1](a=1), "a closed module has no names")


test_none()
test_modules()
test_device()
test_identity()
test_arguments()
test_grids()
test_signatures()
done()
