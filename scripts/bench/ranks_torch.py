# ranks_torch.py: PyTorch's side of ranks_beside.lua, which starts it, a process for each GPU:
#   torchrun --nproc-per-node=2 scripts/bench/ranks_torch.py M N K TOKENS WIDTH HIDDEN WORD ...
# WORDS: gather scatter all_reduce mlp. Rank 0 prints lines "NAME MS", or "NAME none WHY" of what this
# PyTorch or machine does not have. A time is the median of batches between two events of rank 0's
# device. Names end with the way: nccl, a call of NCCL and one of cuBLAS in turn; fused, the kernels of
# torch.distributed._symmetric_memory; alone, the product without the other ranks.
import os
import sys

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.nn.functional as F

from torch_clock import BATCHES, DEVICE, RANK, RANKS, WARM, back_to_back, between_events, median

BATCH_MS = 30
BUSY_REPS, BUSY_CYCLES = 20, 40_000_000  # of a call behind a kernel of about 20 ms
SMALL_BYTES = 256 << 10


def note(name, value):
    if RANK == 0:
        print(name, value, flush=True)


def on_device(launch):
    """The device alone: all is enqueued while a kernel keeps it busy."""
    for _ in range(WARM):
        launch()
    times = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda._sleep(BUSY_CYCLES)
        times.append(between_events(launch, BUSY_REPS))
    return median(times)


def batches(launch):
    return back_to_back(launch, BATCH_MS)


def measure(name, launch, time=batches):
    try:
        note(name, f"{time(launch):.5f}")
    except Exception as why:  # a kernel that this PyTorch or machine does not have
        note(name, "none " + str(why).splitlines()[0])


def small(*shape):
    return torch.rand(shape, device=DEVICE, dtype=torch.float32).mul_(2).sub_(1).bfloat16()


# {====== Products ======


def gather(M, N, K):
    own, B = small(M // RANKS, K), small(N // RANKS, K)
    A, C = small(M, K), torch.empty((M, N // RANKS), device=DEVICE, dtype=torch.bfloat16)

    def nccl():
        dist.all_gather_into_tensor(A, own)
        torch.mm(A, B.t(), out=C)

    measure("gather alone", lambda: torch.mm(A, B.t(), out=C))
    measure("gather nccl", nccl)
    measure("gather fused", lambda: torch.ops.symm_mem.fused_all_gather_matmul(
        own, [B.t()], 0, dist.group.WORLD.group_name))


def scatter(M, N, K):
    A, B = small(M, K // RANKS), small(N, K // RANKS)
    sums = torch.empty((M, N), device=DEVICE, dtype=torch.bfloat16)
    C = torch.empty((M // RANKS, N), device=DEVICE, dtype=torch.bfloat16)

    def nccl():
        torch.mm(A, B.t(), out=sums)
        dist.reduce_scatter_tensor(C, sums)

    measure("scatter alone", lambda: torch.mm(A, B.t(), out=sums))
    measure("scatter nccl", nccl)
    measure("scatter fused", lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(
        A, B.t(), "sum", 0, dist.group.WORLD.group_name))


# {====== A small sum ======


def all_reduce():
    plain = torch.zeros(SMALL_BYTES // 4, device=DEVICE)
    measure("all_reduce nccl", lambda: dist.all_reduce(plain), on_device)
    try:
        shared = symm_mem.empty(SMALL_BYTES // 4, dtype=torch.float32, device=DEVICE)
        symm_mem.rendezvous(shared, dist.group.WORLD)
    except Exception as why:
        note("all_reduce fused", "none " + str(why).splitlines()[0])
        return
    shared.zero_()
    measure("all_reduce fused", lambda: torch.ops.symm_mem.two_shot_all_reduce_(
        shared, "sum", dist.group.WORLD.group_name), on_device)


# {====== Two layers ======


def mlp(T, D, H):
    x, w1, w2 = small(T // RANKS, D), small(H // RANKS, D), small(D, H // RANKS)
    whole = torch.empty((T, D), device=DEVICE, dtype=torch.bfloat16)
    y = torch.empty((T // RANKS, D), device=DEVICE, dtype=torch.bfloat16)
    group = dist.group.WORLD.group_name

    def nccl():
        dist.all_gather_into_tensor(whole, x)
        hidden = F.gelu(torch.mm(whole, w1.t()))
        dist.reduce_scatter_tensor(y, torch.mm(hidden, w2.t()))

    def fused():
        _, (hidden,) = torch.ops.symm_mem.fused_all_gather_matmul(x, [w1.t()], 0, group)
        torch.ops.symm_mem.fused_matmul_reduce_scatter(F.gelu(hidden), w2.t(), "sum", 0, group)

    measure("mlp nccl", nccl)
    measure("mlp fused", fused)


def main():
    sizes, words = [int(a) for a in sys.argv[1:7]], sys.argv[7:]
    torch.cuda.set_device(DEVICE)
    dist.init_process_group("nccl", device_id=DEVICE)
    if hasattr(symm_mem, "enable_symm_mem_for_group"):
        symm_mem.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    torch.manual_seed(RANK)
    cases = {
        "gather": lambda: gather(*sizes[:3]),
        "scatter": lambda: scatter(*sizes[:3]),
        "all_reduce": all_reduce,
        "mlp": lambda: mlp(*sizes[3:]),
    }
    note("torch", torch.__version__)
    for word in words:
        cases[word]()
    dist.destroy_process_group()


main()
