# sdpa_peer.py: PyTorch's scaled_dot_product_attention for `main.lua hopper attention`, which
# starts it, sends it requests, a line each, and reads an answer, "ok ..." or "error ...":
#   data DTYPE B H S D Q K V    loads the operands from .npy files of their bits, (B,H,S,D) in C order
#   causal 0|1                  what is computed from now on; answers the backends that compute it
#   time BACKEND IDLE WARM SYNC REPS
#                               idles IDLE ms, launches WARM times, waits if SYNC, launches REPS times
#                               between two events; answers ms of a launch
#   error BACKEND               of its result against one in double precision, of all heads: relative
#                               (root of squares) and largest
#   error_of FILE               the same of a result in an .npy file
#   forget                      frees the operands
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as e:
    print("error", e, flush=True)
    sys.exit(1)

BACKENDS = {
    "default": None,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


def load(path, dtype, shape):
    with open(path, "rb") as f:
        raw = bytearray(f.read())
    start = 10 + int.from_bytes(raw[8:10], "little")  # format 1.0
    bits = torch.frombuffer(raw, dtype=torch.int16, offset=start)
    return bits.view(dtype).reshape(shape).to("cuda")


class Peer:
    def __init__(self):
        self.is_causal = False
        self.operands = self.exact = None

    def attend(self):
        return F.scaled_dot_product_attention(*self.operands, is_causal=self.is_causal)

    def with_backend(self, name, f):
        if BACKENDS[name] is None:
            return f()
        with sdpa_kernel(BACKENDS[name]):
            return f()

    def can(self, name):
        try:
            self.with_backend(name, self.attend)
            torch.cuda.synchronize()
            return True
        except RuntimeError:
            return False

    def reference(self):
        if self.exact is None:
            q, k, v = self.operands
            self.exact = torch.empty(q.shape, dtype=torch.float64, device="cuda")
            n = q.shape[2]
            hidden = torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1)
            for b in range(q.shape[0]):
                for h in range(q.shape[1]):
                    s = q[b, h].double() @ k[b, h].double().T * q.shape[3] ** -0.5
                    if self.is_causal:
                        s.masked_fill_(hidden, float("-inf"))
                    self.exact[b, h] = torch.softmax(s, 1) @ v[b, h].double()
        return self.exact

    def errors(self, out):
        exact = self.reference()
        d = out.double() - exact
        return "%.4g %.4g" % ((d.norm() / exact.norm()).item(), d.abs().max().item())

    def data(self, dtype, b, h, s, d, *paths):
        self.exact = None
        self.operands = None
        shape = (int(b), int(h), int(s), int(d))
        self.operands = [load(path, TYPES[dtype], shape) for path in paths]
        self.dtype, self.shape = TYPES[dtype], shape
        return ""

    def causal(self, value):
        self.is_causal, self.exact = value == "1", None
        return " ".join(name for name in BACKENDS if self.can(name))

    def time(self, name, idle, warm, sync, reps):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def run():
            for _ in range(int(warm)):
                self.attend()
            if sync == "1":
                torch.cuda.synchronize()
            start.record()
            for _ in range(int(reps)):
                self.attend()
            stop.record()

        torch.cuda.synchronize()
        time.sleep(float(idle) * 1e-3)
        self.with_backend(name, run)
        stop.synchronize()
        return "%.6f" % (start.elapsed_time(stop) / int(reps))

    def error(self, name):
        return self.errors(self.with_backend(name, self.attend))

    def error_of(self, path):
        return self.errors(load(path, self.dtype, self.shape))

    def forget(self):
        self.operands = self.exact = None
        torch.cuda.empty_cache()
        return ""


def main():
    if not torch.cuda.is_available():
        print("error PyTorch has no CUDA device", flush=True)
        return
    torch.cuda.set_device(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("ok PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version(), flush=True)
    peer = Peer()
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            with torch.no_grad():
                print("ok", getattr(peer, name)(*arguments), flush=True)
        except Exception as e:  # what went wrong is the answer
            print("error", name + ":", str(e).replace("\n", " "), flush=True)


main()
