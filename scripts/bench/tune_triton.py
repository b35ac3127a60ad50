# tune_triton.py: Triton's autotuner on the spaces of tune_beside.lua, as far as Triton has them:
#   python3 scripts/bench/tune_triton.py [sgemm] [softmax] [stencil]
# For each kernel: the seconds that the first call takes (compiling and timing all configurations,
# with an empty cache if TRITON_CACHE_DIR is new), the configuration, and ms of a call afterwards, the
# median of batches back to back.
import os
import sys
import tempfile
import time

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())

import torch
import triton
import triton.language as tl

BATCHES, BATCH_MS = 9, 20


def median_ms(launch):
    def batch(reps):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(reps):
            launch()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / reps

    batch(1)
    reps = max(1, min(2000, int(BATCH_MS / max(batch(2), 1e-3))))
    times = sorted(batch(reps) for _ in range(BATCHES))
    return times[BATCHES // 2]


def report(name, kernel, configs, launch, is_right):
    torch.cuda.synchronize()
    began = time.perf_counter()
    launch()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    print(
        f"{name:28s} {str(kernel.best_config)}, {median_ms(launch):.4f} ms; {seconds:.1f} s, "
        f"{len(configs)} configurations, {'correct' if is_right() else 'WRONG'}",
        flush=True,
    )


# {====== A product of f32 without tf32: C = A * B', M and N contiguous ======

SGEMM = [
    triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=s)
    for m, n, k in [(128, 128, 16), (128, 64, 16), (64, 64, 16), (256, 128, 16)]
    for w in (4, 8)
    for s in (3, 4)
]


@triton.autotune(configs=SGEMM, key=["M", "N", "K"])
@triton.jit
def sgemm_kernel(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(A + m[:, None] + (k0 + k)[None, :] * M)
        b = tl.load(B + n[None, :] + (k0 + k)[:, None] * N)
        sums = tl.dot(a, b, sums, input_precision="ieee")
    tl.store(C + m[:, None] + n[None, :] * M, sums)


def sgemm():
    M, N, K = 5120, 5120, 4096
    a = torch.rand((K, M), device="cuda")  # a[k, m]: m contiguous
    b = torch.rand((K, N), device="cuda")
    c = torch.empty((N, M), device="cuda")

    def launch():
        grid = lambda c_: (M // c_["BM"], N // c_["BN"])
        sgemm_kernel[grid](a, b, c, M, N, K)

    torch.backends.cuda.matmul.allow_tf32 = False
    report(f"sgemm NT {M}x{N}x{K}", sgemm_kernel, SGEMM, launch,
           lambda: torch.allclose(c, b.T @ a, rtol=1e-4, atol=1e-3))


# {====== softmax, a row in registers ======

SOFTMAX = [triton.Config({}, num_warps=w) for w in (1, 2, 4, 8, 16, 32)]


@triton.autotune(configs=SOFTMAX, key=["n_columns"])
@triton.jit
def softmax_kernel(x, y, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < n_columns
    v = tl.load(x + row * n_columns + at, mask=inside, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n_columns + at, v / tl.sum(v, axis=0), mask=inside)


def softmax():
    for rows, columns in ((8192, 8192), (32768, 1024)):
        x = torch.rand((rows, columns), device="cuda")
        y = torch.empty_like(x)

        def launch():
            softmax_kernel[(rows,)](x, y, columns, BLOCK=triton.next_power_of_2(columns))

        report(f"softmax {rows}x{columns}", softmax_kernel, SOFTMAX, launch,
               lambda: torch.allclose(y, torch.softmax(x, dim=1), rtol=1e-4, atol=1e-7))


# {====== A stencil of 7 points: a program has a tile of a plane, and walks DEEP planes ======

STENCIL = [
    triton.Config({"BX": x, "BY": y, "DEEP": d}, num_warps=max(1, x * y // 32))
    for x, y in ((32, 4), (32, 8), (64, 2), (64, 4), (128, 1), (128, 2), (16, 16), (256, 1), (32, 16))
    for d in (1, 2, 4, 8)
]


@triton.autotune(configs=STENCIL, key=["n"])
@triton.jit
def stencil_kernel(x, y, n, BX: tl.constexpr, BY: tl.constexpr, DEEP: tl.constexpr):
    i = (tl.program_id(0) * BX + tl.arange(0, BX) + 1)[:, None]
    j = (tl.program_id(1) * BY + tl.arange(0, BY) + 1)[None, :]
    inside = (i < n - 1) & (j < n - 1)
    plane = n * n
    first = tl.program_id(2) * DEEP + 1
    at = i + j * n + first * plane
    below = tl.load(x + at - plane, mask=inside)
    here = tl.load(x + at, mask=inside)
    for k in tl.static_range(DEEP):
        here_inside = inside & (first + k < n - 1)
        above = tl.load(x + at + plane, mask=here_inside)
        around = tl.load(x + at - 1, mask=here_inside) + tl.load(x + at + 1, mask=here_inside)
        around += tl.load(x + at - n, mask=here_inside) + tl.load(x + at + n, mask=here_inside)
        tl.store(y + at, 0.5 * here + 0.1 * (below + above + around), mask=here_inside)
        below = here
        here = above
        at += plane


def stencil():
    n = 512
    x = torch.rand((n, n, n), device="cuda")
    y = torch.zeros_like(x)

    def launch():
        grid = lambda c: tuple(triton.cdiv(n - 2, c[k]) for k in ("BX", "BY", "DEEP"))
        stencil_kernel[grid](x, y, n)

    def is_right():
        s = slice(1, -1)
        want = 0.5 * x[s, s, s] + 0.1 * (
            x[:-2, s, s] + x[2:, s, s] + x[s, :-2, s] + x[s, 2:, s] + x[s, s, :-2] + x[s, s, 2:])
        return torch.allclose(y[s, s, s], want, rtol=1e-5, atol=1e-6)

    report(f"stencil {n}x{n}x{n}", stencil_kernel, STENCIL, launch, is_right)


CASES = {"sgemm": sgemm, "softmax": softmax, "stencil": stencil}
print("on", torch.cuda.get_device_name(0), "with Triton", triton.__version__)
for word in sys.argv[1:] or list(CASES):
    CASES[word]()
