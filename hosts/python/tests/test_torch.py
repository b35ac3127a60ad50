"""cuttle.torch.register, and tensors of a PyTorch without the C exchange interface. A small stand-in has the
functions of torch that are used; where the real one is installed, tests/test_torch_real.py uses that."""

import sys
import types

import memory as m

asked, kept = [], []


class Tensor(m.Old):
    """Has what tells PyTorch's tensors from others."""

    __torch_function__ = None

    def __dlpack__(self, stream=None):
        raise AssertionError("to_dlpack is the way")

    dtype = "torch.float32"
    negative, version = False, 0

    def is_neg(self):
        return self.negative

    def view(self, dtype):
        return Tensor(self.array, dtype)

    def new_like(self):
        return Tensor(m.floats(*([0.0] * len(self.array))), "f32")


class Op:
    """What torch.library.custom_op returns."""

    def __init__(self, name, function, mutates_args, device_types=None, schema=None):
        self.name, self.function, self.mutates, self.schema = name, function, mutates_args, schema
        self.device_types, self.fake, self.autograd = device_types, None, None

    def __call__(self, *args):
        return self.function(*args)

    def register_fake(self, function):
        self.fake = function

    def register_autograd(self, backward, *, setup_context=None):
        self.autograd = backward, setup_context


def to_dlpack(tensor):
    asked.append("to_dlpack")
    kept.append(tensor)  # as a capsule of torch does
    if tensor.dtype.startswith("torch.float8") and tensor.tensor.dtype.code != 1:
        raise BufferError("no float8 here")
    return m.Old.__dlpack__(tensor)


def raw_stream(device):
    asked.append(("stream", device))
    return 0


def increment_version(tensors):
    for tensor in tensors:
        tensor.version += 1


torch = types.ModuleType("torch")
torch.Tensor = Tensor
torch.library = types.SimpleNamespace(custom_op=Op)
torch.utils = types.SimpleNamespace(dlpack=types.SimpleNamespace(to_dlpack=to_dlpack))
torch.uint8 = "u8"
torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=raw_stream, _increment_version=increment_version)
sys.modules["torch"] = torch

import cuttle  # noqa: E402
from tap import done, fails, ok, same  # noqa: E402

module = cuttle.loads("""
saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
kernel("double", function(x, y)
  local i = threadIdx.x
  if i < size(y) then y[i] = x[i] + x[i] end
end)
kernel("three", function(x) x[0] = cast(3, x.dtype) end)
kernel("both", function(x, y, z)
  local i = threadIdx.x
  if i < size(y) then y[i] = x[i] + 1.0; z[i] = x[i] + 2.0 end
end)
""", device="cpu")


def tensor(*values):
    return Tensor(m.floats(*values), "f32")


def test_tensors():
    x, y = tensor(1, 2, 3), tensor(1, 1, 1)
    module.saxpy[1, 32](2.0, x, y)
    same(list(y.array), [3.0, 5.0, 7.0], "a tensor without the C interface")
    same(asked, ["to_dlpack"] * 2, "comes by to_dlpack")
    far = Tensor(m.floats(1), "f32", device=(m.CUDA, 2))
    fails(cuttle.Error, "", lambda: module.double[1, 1](far, far), "on a device that is not here")
    same(asked[2:], ["to_dlpack", ("stream", 2), "to_dlpack"], "the current stream is asked for once")


def test_versions():
    """Autograd is told what a launch, or a call, wrote."""
    x, y, a = tensor(1, 2, 3), tensor(1, 1, 1), m.New(m.floats(1, 1, 1), "f32")
    module.saxpy[1, 32](2.0, x, y)
    same((x.version, y.version), (0, 1), "what the kernel writes has a new version, the rest has not")
    module.saxpy[1, 32](2.0, y, a)
    module.saxpy[0, 32](2.0, x, y)
    fails(cuttle.Error, "", lambda: module.saxpy[1, 2048](2.0, x, y), "a launch that fails")
    same((x.version, y.version), (0, 1), "nothing new where nothing was written")
    module.saxpy[1, 32](2.0, x, cuttle.view_as(y, "f32"))
    same(y.version, 2, "in another view, too")
    module.run("function go(x, y) saxpy{grid = 1, block = 32}(1.0, x, y) end function look(x) return x[0] end", "=go")
    module.call("go", (x, y), None)
    module.call("look", (y,), None)
    same((x.version, y.version), (0, 3), "and by a function of the script")


def test_negative_bit():
    t = Tensor(m.floats(1, 2, 3, 4), "f32", (2,), (2,))
    module.double[1, 2](t, tensor(1, 2))
    t.negative = True
    fails(BufferError, "argument 1 has PyTorch's negative bit", lambda: module.double[1, 2](t, tensor(1, 2)),
          "elements of the other sign")


def test_float8():
    x = m.C.c_uint8 * 1
    for name, want in (("torch.float8_e4m3fn", 0x44), ("torch.float8_e5m2", 0x42)):
        memory = x(0)
        t = Tensor(memory, "f32", (1,))
        t.dtype = name
        module.three[1, 1](t)
        same(memory[0], want, f"{name}, which this torch does not export")
    t.dtype = "torch.float8_e4m3fnuz"
    fails(BufferError, "no float8 here", lambda: module.three[1, 1](t), "another float8: torch's own error")


def test_mutating():
    def launch(a: float, x: torch.Tensor, y: torch.Tensor):
        return (len(y.array) + 31) // 32, 32

    op = cuttle.torch.register(module.saxpy, "demo::saxpy", launch, mutates=["y"])
    same(op.schema, "(float a, Tensor x, Tensor(a2!) y) -> ()", "its schema")
    same((op.name, op.mutates, op.autograd), ("demo::saxpy", ("y",), None), "and what else torch gets")
    x, y = tensor(1, 2, 3), tensor(1, 1, 1)
    same(op(2.0, x, y), None, "it returns nothing")
    same(list(y.array), [3.0, 5.0, 7.0], "and writes its argument")
    same(op.fake(2.0, x, y), None, "the fake one does nothing")
    same(list(y.array), [3.0, 5.0, 7.0], "at all")


def test_optional():
    def launch(x: "Optional[torch.Tensor]", y: "torch.Tensor | None", z: "typing.Optional[Tensor]"):
        return 1, 32

    same(cuttle.torch.schema(launch, ["z"], 0), "(Tensor? x, Tensor? y, Tensor(a2!)? z) -> ()", "tensors or None")

    def other(x: "Optional[int]"):
        return 1, 32

    fails(TypeError, "Optional[torch.Tensor], float, int or bool", lambda: cuttle.torch.schema(other, [], 0),
          "of tensors only")


def test_outputs():
    def backward(ctx, grad):
        return grad

    def setup(ctx, inputs, output):
        pass

    op = cuttle.torch.register(module.double, "demo::double", lambda x: (1, 32), outputs=lambda x: x.new_like(),
                               backward=backward, setup_context=setup)
    same(op.schema, "(Tensor x) -> Tensor", "a result; without annotations parameters are tensors")
    x = tensor(1, 2, 3)
    same(list(op(x).array), [2.0, 4.0, 6.0], "is made, written and returned")
    same(list(op.fake(x).array), [0.0, 0.0, 0.0], "the fake one makes it only")
    same(op.autograd, (backward, setup), "the gradient is registered")
    op = cuttle.torch.register(module.both, "demo::both", lambda x: (1, 32), n_outputs=2,
                               outputs=lambda x: (x.new_like(), x.new_like()), config={"smem": 64})
    same(op.schema, "(Tensor x) -> (Tensor, Tensor)", "two results")
    same([list(t.array) for t in op(x)], [[2.0, 3.0, 4.0], [3.0, 4.0, 5.0]], "are returned, with options of launches")


def test_refusals():
    register = cuttle.torch.register
    fails(ValueError, "mutates names ['z']", lambda: register(module.saxpy, "d::s", lambda a, x, y: 0, mutates=["z"]),
          "an unknown parameter")
    fails(ValueError, "no results", lambda: register(module.saxpy, "d::s", lambda a, x, y: 0), "nothing written")

    def bad(a: str, y: "torch.Tensor"):
        return 1, 1

    fails(TypeError, "parameter a: str", lambda: register(module.saxpy, "d::s", bad, mutates=["y"]), "a text")

    def number(a: float):
        return 1, 1

    fails(TypeError, "'a', which is a float", lambda: register(module.saxpy, "d::s", number, mutates=["a"]),
          "a number that is written")
    fails(TypeError, "*rest", lambda: register(module.saxpy, "d::s", lambda *rest: 0, outputs=len), "a list")


test_tensors()
test_versions()
test_negative_bit()
test_float8()
test_mutating()
test_optional()
test_outputs()
test_refusals()
ok("torch" in dir(cuttle), "cuttle.torch is imported when it is asked for")
done()
