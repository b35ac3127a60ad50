# copies_torch.py: PyTorch's side of copies.lua: the same copies, by copy_ of permuted tensors. The shapes
# are those of copies.lua in the other order. A time is the median of batches between two events.
import torch

BATCHES, REPS = 7, 20


def report(name, n_bytes, copy):
    times = []
    for _ in range(BATCHES + 1):  # the first one warms up
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(REPS):
            copy()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / REPS)
    ms = sorted(times[1:])[BATCHES // 2]
    print(f"{name:32} {1e3 * ms:9.1f} us {n_bytes / ms * 1e-6:8.1f} GB/s", flush=True)


def turned(name, dtype, shape, order):
    x = torch.zeros(shape, device="cuda", dtype=dtype).permute(order)
    y = torch.empty(x.shape, device="cuda", dtype=dtype)
    report(name, 2 * y.numel() * y.element_size(), lambda: y.copy_(x))


turned("f32 32x48x32x40x16 to 3,0,4,2,1", torch.float32, (16, 40, 32, 48, 32), (3, 2, 0, 4, 1))
turned("f32 8192^2 transposed", torch.float32, (8192, 8192), (1, 0))
turned("bf16 8192^2 transposed", torch.bfloat16, (8192, 8192), (1, 0))
turned("u8 8192^2 transposed", torch.uint8, (8192, 8192), (1, 0))
turned("f64 4096^2 transposed", torch.float64, (4096, 4096), (1, 0))
turned("bf16 128x16x4096x8 to 0,2,1,3", torch.bfloat16, (8, 4096, 16, 128), (0, 2, 1, 3))
turned("f32 64x128x64x64 to 0,2,1,3", torch.float32, (64, 64, 128, 64), (0, 2, 1, 3))
whole, half = torch.zeros(8192, 8192, device="cuda"), torch.empty(8192, 4096, device="cuda")
part = half.numel() * 4
report("f32 rows 0..4095 of 8192^2", 2 * part, lambda: half.copy_(whole[:, :4096]))
report("f32 8192^2 filled", 2 * part, lambda: whole.fill_(1.5))
report("f32 rows 4096..8191 cleared", part, lambda: whole[:, 4096:].zero_())
other = torch.empty_like(half)
report("f32 4096x8192, plain copy", 2 * part, lambda: other.copy_(half))
