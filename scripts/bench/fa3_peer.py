# fa3_peer.py: FlashAttention-3 by its JAX library, the Python package dew_flash_attn, for
# attention_bars.lua, which starts it, sends it requests, a line each, and reads an answer, "ok ..." or
# "error ...":
#   shape B H S D CAUSAL           random operands of that shape; what is timed from now on
#   time PASS IDLE WARM SYNC REPS  PASS is forward or backward; idles IDLE ms, launches WARM times, waits
#                                  if SYNC, launches REPS times by the clock; answers ms of a launch
#   errors H S D CAUSAL OUTLIERS FOLDER
#                                  writes Q, K, V and dO (1,H,S,D) to FOLDER/NAME.npy, bits of bf16; with
#                                  OUTLIERS one of 1,000 elements is drawn ten times as large. Answers the
#                                  relative errors (root of squares) of O, dQ, dK and dV to double
#                                  precision
#   errors_of NAME...              the same of the results FOLDER/NAME.npy, in that order
# The program's argument is a folder with the package, if it is not where Python finds it.
import ctypes
import glob
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
try:
    import jax
    import jax.numpy as jnp
    import numpy as np

    for base in sys.path:
        for lib in glob.glob(os.path.join(base or ".", "nvidia", "*", "lib", "libcudart.so.13")):
            ctypes.CDLL(lib, mode=ctypes.RTLD_GLOBAL)
    import dew_flash_attn as flash
except (ImportError, OSError) as e:
    print("error", e, flush=True)
    sys.exit(1)

WINDOW = (-1, -1)


def functions(d, causal):
    scale = 1.0 / d**0.5

    def forward(q, k, v):
        return flash._forward3(q, k, v, None, None, scale, causal, WINDOW)

    def backward(g, q, k, v, o, lse):
        return flash._backward3(g, q, k, v, o, lse, None, None, scale, causal, WINDOW)

    return jax.jit(forward), jax.jit(backward)


# O, dQ, dK and dV of one head in double precision.
def exact(q, k, v, g, causal):
    scale = q.shape[1] ** -0.5
    s = q @ k.T * scale
    if causal:
        s[np.triu(np.ones(s.shape, bool), 1)] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    o = p @ v
    ds = p * (g @ v.T - (g * o).sum(1, keepdims=True)) * scale
    return o, ds @ k, ds.T @ q, p.T @ g


class Peer:
    def shape(self, b, h, s, d, causal):
        size = (int(b), int(s), int(h), int(d))
        self.forward, self.backward = functions(int(d), causal == "1")
        keys = jax.random.split(jax.random.key(0), 4)
        self.q, self.k, self.v, self.g = (jax.random.normal(x, size, jnp.bfloat16) for x in keys)
        self.o, self.lse = self.forward(self.q, self.k, self.v)
        jax.block_until_ready(self.backward(self.g, self.q, self.k, self.v, self.o, self.lse))
        return ""

    def time(self, which, idle, warm, sync, reps):
        def launch():
            if which == "forward":
                return self.forward(self.q, self.k, self.v)
            return self.backward(self.g, self.q, self.k, self.v, self.o, self.lse)

        time.sleep(float(idle) * 1e-3)
        for _ in range(int(warm)):
            result = launch()
        jax.block_until_ready(result)
        start = time.perf_counter()
        for _ in range(int(reps)):
            result = launch()
        jax.block_until_ready(result)
        return "%.6f" % ((time.perf_counter() - start) / int(reps) * 1e3)

    def errors(self, h, s, d, causal, outliers, folder):
        self.folder = folder
        random = np.random.default_rng(1)
        size = (1, int(h), int(s), int(d))
        operands = {}
        for name in ("Q", "K", "V", "dO"):
            x = random.standard_normal(size)
            if outliers == "1":
                x += 10 * random.standard_normal(size) * (random.random(size) < 1e-3)
            x = operands[name] = x.astype(jnp.bfloat16)
            np.save(os.path.join(folder, name + ".npy"), x.view(np.uint16))
        wide = [operands[x].astype(np.float64)[0] for x in ("Q", "K", "V", "dO")]
        heads = [exact(*(x[i] for x in wide), causal == "1") for i in range(int(h))]
        self.exact = [np.stack(x)[None] for x in zip(*heads)]
        forward, backward = functions(int(d), causal == "1")
        q, k, v, g = (jnp.swapaxes(jnp.asarray(operands[x]), 1, 2) for x in ("Q", "K", "V", "dO"))
        o, lse = forward(q, k, v)
        results = (o,) + backward(g, q, k, v, o, lse)
        return self.compare([np.swapaxes(np.asarray(x), 1, 2) for x in results])

    def compare(self, results):
        errors = []
        for x, y in zip(results, self.exact):
            errors.append(np.linalg.norm(x.astype(np.float64) - y) / np.linalg.norm(y))
        return " ".join("%.4g" % x for x in errors)

    def errors_of(self, *names):
        bits = (np.load(os.path.join(self.folder, x + ".npy")) for x in names)
        return self.compare([x.view(jnp.bfloat16).reshape(self.exact[0].shape) for x in bits])


print("ok FlashAttention-3, JAX", jax.__version__, flush=True)
peer = Peer()
for line in sys.stdin:
    name, *arguments = line.split()
    try:
        print("ok", getattr(peer, name)(*arguments), flush=True)
    except Exception as e:  # what went wrong is the answer
        print("error", name + ":", str(e).replace("\n", " "), flush=True)
