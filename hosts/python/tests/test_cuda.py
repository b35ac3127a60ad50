"""Launches on a CUDA device, as the driver sees them: the stand-in of tests/c/fake_cuda.h takes its place. So the
stream, the addresses and what a capture sees are tested without a GPU."""

import ctypes as C
import os
import shutil
import subprocess
import sys
import tempfile

from tap import done, fails, ok, same, skip_all

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
SOURCE = """
#include "tests/c/fake_libcuda.c"
int seen_launches(void) { return fake.n_launches; }
void *seen_stream(void) { return fake.stream; }
unsigned seen_grid(int i) { return fake.grid[i]; }
unsigned seen_shared(void) { return fake.shared_bytes; }
void seen_param(int i, void *out) { memcpy(out, fake.params + 8 * i, 8); }
int seen_waits(void) { return fake.n_synchronizes; }
void fail_next(const char *name) { snprintf(fake.fail_name, sizeof fake.fail_name, "%s", name); fake.fail_result = 2; }
void capture(void *stream) { fake.host_captured = stream; }
"""

compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
if not compiler or sys.platform != "linux":
    skip_all("no C compiler here")
folder = tempfile.mkdtemp()
library = os.path.join(folder, "libcuda.so.1")
with open(os.path.join(folder, "fake.c"), "w") as file:
    file.write(SOURCE)
built = subprocess.run(compiler.split() + ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-shared", "-fPIC", f"-I{ROOT}",
                                           f"-I{ROOT}/tests/c", os.path.join(folder, "fake.c"), "-o", library])
if built.returncode != 0:
    skip_all("the stand-in for the driver does not compile")
os.environ["CUTTLE_LIBCUDA"] = library
os.environ.pop("CUTTLE_DEVICE", None)

import cuttle  # noqa: E402
import memory as m  # noqa: E402

driver = C.CDLL(library)
driver.seen_stream.restype = C.c_void_p
driver.capture.argtypes = [C.c_void_p]
module = cuttle.loads("""
kernel("add", function(x, y, z)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(z) then z[i] = x[i] + y[i] end
end)
local scale, counts = 2, {n = 0}
function set_scale(s) scale = s end
function count() counts.n = counts.n + 1 end
function traces() return counts.n end
kernel("scaled", function(a, x, y)
  count()
  y[threadIdx.x] = a * x[threadIdx.x] * scale
end)
""")
BASE = 0x7F0000000000


class Far(m.Exchanging):
    """A tensor of the device, at an address that nothing follows."""

    def __init__(self, n, at, device=0):
        shape, stride = (n, (n[1], 1)) if isinstance(n, tuple) else ((n,), (1,))
        super().__init__(m.floats(0), "f32", shape, stride, device=(m.CUDA, device))
        self.tensor.data = self.versioned.tensor.data = BASE + at
        self.shape = shape


class FarCapsule(m.New):
    def __init__(self, n, at):
        super().__init__(m.floats(0), "f32", (n,), (1,), device=(m.CUDA, 0))
        self.versioned.tensor.data = BASE + at


def address(i):
    out = C.c_uint64()
    driver.seen_param(i, C.byref(out))
    return out.value - BASE


def test_launches():
    x, y, z = Far(1000, 0), Far(1000, 1 << 20), Far(1000, 2 << 20)
    before, waits = driver.seen_launches(), driver.seen_waits()
    m.streams_asked.clear()
    module.add[4, 256](x, y, z)
    same(driver.seen_launches(), before + 1, "one launch")
    same([driver.seen_grid(i) for i in range(3)], [4, 1, 1], "its grid")
    same(driver.seen_stream(), 0x1230, "in the stream that the library named")
    same(m.streams_asked, [(m.CUDA, 0)], "which was asked once for three tensors")
    same(address(0), 0, "the first address")
    for i in range(10):
        module.add[4, 256](Far(1000, 4096 * i), y, z)
    same(address(0), 9 * 4096, "other memory, other addresses")
    same(driver.seen_launches(), before + 11, "a launch for each call")
    same(driver.seen_waits(), waits, "and nobody waits")
    module.add.config(2, 128, smem=64, stream=0)(x, y, z)
    same((driver.seen_stream(), driver.seen_grid(0), driver.seen_shared()), (None, 2, 64), "a stream of one's own")
    fails(cuttle.Error, "is on cuda:0 but argument 3 is on cpu",
          lambda: module.add[1, 1](x, y, m.Exchanging(m.floats(1), "f32")), "tensors of two devices")
    fails(cuttle.Error, "cuda:1", lambda: module.add[1, 1](x, y, Far(1000, 0, 1)), "or of two GPUs")


def traces():
    return module.call("traces", (), None)[0]


def test_repeated():
    """What a launch may take from the one before, and what it must see."""
    x, y = Far(32, 0), Far(32, 1 << 20)
    launch = module.scaled[1, 32]

    def repeat(*args):
        for _ in range(4):
            launch(*args)

    repeat(1.5, x, y)
    before = driver.seen_launches()
    m.streams_asked.clear()
    same(m.reads_of(lambda: repeat(2.5, x, y)), (8, 0), "tensors are lent, without an owner")
    same(len(m.streams_asked), 4, "and the stream is asked for once in a call")
    same(driver.seen_launches() - before, 4, "each call launches")
    value = C.c_float()
    driver.seen_param(0, C.byref(value))
    launch(3.5, x, y)
    found = [value.value]
    driver.seen_param(0, C.byref(value))
    same(found + [value.value], [2.5, 3.5], "with the number of this call")
    launch(1.0, Far(32, 4096), y)
    same(address(1), 4096, "and its memory")
    same(traces(), 1, "from one trace")
    repeat(1.0, x, y)
    module.call("set_scale", (3,), None)
    launch(1.0, x, y)
    same(traces(), 2, "a script changed what the kernel captured")
    module.run("set_scale(4)", "=later")
    launch(1.0, x, y)
    same(traces(), 3, "changed again")
    repeat(1.0, x, y)
    launch(1.0, x, Far(32, 64))
    launch(1.0, x, Far(32, 64))
    same(traces(), 4, "memory that overlaps")
    repeat(1.0, x, y)
    launch(1, x, y)
    same(traces(), 5, "an integer in the float's place")
    refused_launches(x, y, launch)


def refused_launches(x, y, launch):
    other = module.scaled.config((1, 70000), 32)
    for _ in range(3):
        launch(1.0, x, y)
    fails(cuttle.Error, "at most 65535 blocks in y", lambda: other(1.0, x, y), "another grid is looked at")
    launch(1.0, x, y)
    launch(1.0, x, y)
    before = driver.seen_launches()
    driver.fail_next(b"cuLaunchKernelEx")
    fails(cuttle.Error, "scaled", lambda: launch(1.0, x, y), "the driver refuses a launch")
    same(driver.seen_launches(), before, "which is not tried twice")
    for _ in range(3):
        launch(1.0, x, y)
    same(driver.seen_launches(), before + 3, "and later ones go on")
    driver.capture(m.STREAM)
    launch(1.0, x, y)
    launch(1.0, x, y)
    driver.capture(None)
    same(driver.seen_launches(), before + 3, "a captured stream gets nodes of a graph")
    launch(1.0, x, y)
    same(driver.seen_launches(), before + 4, "until the capture ends")


def test_operators():
    """What an operator needs beside its tensors belongs to the graph that the caller captures."""
    a, b, out = (Far((64, 64), at << 20) for at in range(3))
    before = driver.seen_launches()
    driver.capture(m.STREAM)
    cuttle.matmul(a, b, out, split=2)
    driver.capture(None)
    same(driver.seen_launches(), before, "a product in parts becomes nodes of the graph")
    cuttle.matmul(a, b, out, split=2)
    same(driver.seen_launches(), before + 2, "and is launched after the capture")


def test_capsules():
    x, y, z = (FarCapsule(100, i << 20) for i in range(3))
    module.add[1, 128](x, y, z)
    same(driver.seen_stream(), None, "a library without a current stream: the default one")
    same((x.stream, z.stream), (1, 1), "for which it makes its memory ready")
    module.add[1, 128](Far(100, 0), y, z)
    same((driver.seen_stream(), y.stream), (0x1230, 0x1230), "of two libraries the first one says")


try:
    module.add[1, 32](Far(8, 0), Far(8, 64), Far(8, 128))
except cuttle.Error as error:
    if "nvrtc" in str(error).lower():
        skip_all("no NVRTC here")
    raise
test_launches()
test_repeated()
test_operators()
test_capsules()
module.close()
shutil.rmtree(folder)
ok(True, "the module is closed")
done()
