# scaled_peer.py: PyTorch's torch._scaled_mm for scaled.lua, which starts it, sends it requests, a
# line each, and reads an answer, "ok ..." or "error ...":
#   data KIND M N K             random operands of f8e4m3 and scales of that kind: all, rows,
#                               1x128_by_128x128 or 1x128_by_1x128; launches the product once
#   time IDLE WARM SYNC REPS    idles IDLE ms, launches WARM times, waits if SYNC, launches REPS times
#                               between two events; answers ms of a launch
import torch_peer
import torch

BLOCK = 128


def blocks(n):
    return -(-n // BLOCK)


def random(*shape):
    return torch.rand(*shape, device="cuda") + 0.5


# What cuBLASLt takes: 1x128 along the rows first, 128x128 along K first with its stride a multiple
# of 4. Scales of B are those of its transpose.
def along_rows(rows, k):
    return random(blocks(k), rows).t()


def of_squares(rows, k):
    pitch = -(-blocks(k) // 4) * 4
    return random(blocks(rows), pitch)[:, : blocks(k)]


SCALES = {
    "all": lambda m, n, k: (random(()), random(())),
    "rows": lambda m, n, k: (random(m, 1), random(1, n)),
    "1x128_by_128x128": lambda m, n, k: (along_rows(m, k), of_squares(n, k).t()),
    "1x128_by_1x128": lambda m, n, k: (along_rows(m, k), along_rows(n, k).t()),
}


class Peer:
    def data(self, kind, m, n, k):
        m, n, k = int(m), int(n), int(k)
        self.a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
        self.b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn).t()
        self.scale_a, self.scale_b = SCALES[kind](m, n, k)
        self.is_fast = kind in ("all", "rows")
        self.multiply()
        torch.cuda.synchronize()
        return ""

    def multiply(self):
        return torch._scaled_mm(self.a, self.b, self.scale_a, self.scale_b,
                                out_dtype=torch.bfloat16, use_fast_accum=self.is_fast)

    def time(self, *numbers):
        return torch_peer.timed(self.multiply, *numbers)


torch_peer.serve(Peer)
