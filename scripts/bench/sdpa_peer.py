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
#   random B H HK SQ SK D CAUSAL
#                               the same of random operands, with dO; HK heads of keys and values
#   gradients BACKEND IDLE WARM SYNC REPS
#                               as time, of dQ, dK and dV
#   forget                      frees the operands
import torch_peer
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

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
        q, k, v = self.operands
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=self.is_causal, enable_gqa=q.shape[1] != k.shape[1]
        )

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

    def random(self, b, h, hk, sq, sk, d, causal):
        self.operands = self.exact = None
        b, d = int(b), int(d)
        sizes = [(b, int(x), int(n), d) for x, n in ((h, sq), (hk, sk), (hk, sk))]
        self.operands = [
            torch.randn(*x, device="cuda", dtype=torch.bfloat16, requires_grad=True) for x in sizes
        ]
        return self.causal(causal)

    @torch.enable_grad()
    def gradients(self, name, *numbers):
        out = self.with_backend(name, self.attend)
        g = torch.randn_like(out)
        return torch_peer.timed(
            lambda: torch.autograd.grad(out, self.operands, g, retain_graph=True), *numbers
        )

    def time(self, name, *numbers):
        return self.with_backend(name, lambda: torch_peer.timed(self.attend, *numbers))

    def error(self, name):
        return self.errors(self.with_backend(name, self.attend))

    def error_of(self, path):
        return self.errors(load(path, self.dtype, self.shape))

    def forget(self):
        self.operands = self.exact = None
        torch.cuda.empty_cache()
        return ""


torch_peer.serve(Peer)
