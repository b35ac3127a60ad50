# train_torch.py: PyTorch's side of train_beside.lua, which starts it, a process for each GPU:
#   torchrun --nproc-per-node=2 scripts/bench/train_torch.py ROWS WIDTH LAYERS  ROWS WIDTH HIDDEN
#            BATCHES TOKENS HEADS DEPTH  RATE WEIGHTS TARGETS SAMPLES WORD ...
# WORDS: data (DistributedDataParallel), tensor and attention (torch.distributed.tensor.parallel). Rank 0 prints
# lines "time WORD NAME MS" and "samples WORD NAME<RANK> numbers", of all ranks. The data are those of data.lua.
import os
import sys

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)
from torch.nn.parallel import DistributedDataParallel

from torch_clock import DEVICE, RANK, RANKS, WARM, back_to_back

BATCH_MS = 100
WORD32 = (1 << 32) - 1


def hashed(x):
    """data.lua's hash, of an int or a tensor of int64 that holds words of 32 bits."""
    state = (x * 747796405 + 2891336453) & WORD32
    word = (((state >> ((state >> 28) + 4)) ^ state) * 277803737) & WORD32
    return (word >> 22) ^ word


def uniform(seed, by, *shape):
    """Numbers from -by to by, those of data.uniform with this seed."""
    n = torch.Size(shape).numel()
    out = torch.empty(n, device=DEVICE, dtype=torch.bfloat16)
    for first in range(0, n, 1 << 24):
        i = torch.arange(first, min(n, first + (1 << 24)), device=DEVICE)
        unit = ((hashed(i ^ hashed(seed)) >> 8).float() + 0.5) * 2.0**-24
        out[first:first + len(i)] = ((2.0 * unit - 1.0).bfloat16().float() * by).bfloat16()
    return out.view(shape)


def samples(word, name, t, count):
    """Of all ranks: numbers of t that lie equally far from one another."""
    flat = t.detach().reshape(-1)
    n = min(count, flat.numel())
    own = flat[::flat.numel() // n][:n].float().contiguous()
    picked = [torch.empty_like(own) for _ in range(RANKS)]
    dist.all_gather(picked, own)
    for rank, numbers in enumerate(picked if RANK == 0 else []):
        print("samples", word, f"{name}{rank}", *(f"{v:.9g}" for v in numbers.tolist()), flush=True)


def measure(word, name, step):
    ms = back_to_back(step, BATCH_MS, WARM)
    if RANK == 0:
        print(f"time {word} {name} {ms:.5f}", flush=True)


# {====== Data parallel ======


def build(width, layers, weights):
    modules = []
    for i in range(layers):
        modules.append(nn.Linear(width, width, bias=False, device=DEVICE, dtype=torch.bfloat16))
        if i < layers - 1:
            modules.append(nn.ReLU(inplace=True))
    model = nn.Sequential(*modules)
    all_weights = uniform(1, weights, layers * width, width)
    with torch.no_grad():
        for p, part in zip(model.parameters(), all_weights.chunk(layers)):
            p.copy_(part)
    return model


def data(rows, width, layers, rate, weights, targets, count):
    model = DistributedDataParallel(build(width, layers, weights), device_ids=[DEVICE.index],
                                    gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, fused=True)
    x, target = uniform(100 + RANK, 1, rows, width), uniform(200 + RANK, targets, rows, width)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), target, reduction="sum") / rows
        loss.backward()
        optimizer.step()
        return loss

    def all_of(get):
        return torch.cat([get(p).detach().reshape(-1) for p in model.parameters()])

    def show_loss(name, loss):
        mean = loss.detach().float() / RANKS
        dist.all_reduce(mean)
        samples("data", name, mean, 1)

    samples("data", "before", all_of(lambda p: p), count)
    show_loss("loss1", step())
    samples("data", "gradients", all_of(lambda p: p.grad) * RANKS, count)  # DDP has their mean
    samples("data", "after", all_of(lambda p: p), count)
    optimizer.param_groups[0]["lr"] = 0.0
    show_loss("loss2", step())
    measure("data", "DDP", step)


# {====== Tensor parallel ======


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden, bias=False, device=DEVICE, dtype=torch.bfloat16)
        self.down = nn.Linear(hidden, width, bias=False, device=DEVICE, dtype=torch.bfloat16)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


def tensor(rows, width, hidden, weights, count):
    mesh = init_device_mesh("cuda", (RANKS,))
    block = parallelize_module(Block(width, hidden), mesh, {
        "up": ColwiseParallel(input_layouts=Shard(0)),
        "down": RowwiseParallel(output_layouts=Shard(0))})
    with torch.no_grad():
        block.up.weight.to_local().copy_(uniform(500 + RANK, weights, hidden // RANKS, width))
        block.down.weight.to_local().copy_(uniform(600 + RANK, weights, width, hidden // RANKS))
    x = uniform(300 + RANK, 1, rows // RANKS, width).requires_grad_()
    dy = uniform(400 + RANK, 1, rows // RANKS, width)

    def step():
        block.zero_grad(set_to_none=True)
        x.grad = None
        y = block(x)
        y.backward(dy)
        return y

    y = step()
    for name, t in {"y": y, "dx": x.grad, "d_up": block.up.weight.grad.to_local(),
                    "d_down": block.down.weight.grad.to_local()}.items():
        samples("tensor", name, t, count)
    del y
    measure("tensor", "its_parallel_styles", step)


# {====== Tensor-parallel attention ======


class Attention(nn.Module):
    def __init__(self, heads, depth):
        super().__init__()
        width = heads * depth
        self.qkv = nn.Linear(width, 3 * width, bias=False, device=DEVICE, dtype=torch.bfloat16)
        self.out = nn.Linear(width, width, bias=False, device=DEVICE, dtype=torch.bfloat16)

    def forward(self, x, batches, depth):
        q, k, v = (part.unflatten(1, (-1, depth)).unflatten(0, (batches, -1)).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2).flatten(0, 1))


def attention(batches, tokens, heads, depth, weights, count):
    width, mesh = heads * depth, init_device_mesh("cuda", (RANKS,))
    block = parallelize_module(Attention(heads, depth), mesh, {
        "qkv": ColwiseParallel(input_layouts=Shard(0)),
        "out": RowwiseParallel(output_layouts=Shard(0))})
    with torch.no_grad():
        block.qkv.weight.to_local().copy_(uniform(800 + RANK, weights, 3 * width // RANKS, width))
        block.out.weight.to_local().copy_(uniform(900 + RANK, weights, width, width // RANKS))
    x = uniform(700 + RANK, 1, batches * tokens // RANKS, width)
    with torch.no_grad():
        samples("attention", "y", block(x, batches, depth), count)
        measure("attention", "its_parallel_styles", lambda: block(x, batches, depth))


def main():
    d, t, h = ([int(a) for a in sys.argv[i:j]] for i, j in ((1, 4), (4, 7), (7, 11)))
    rate, weights, targets = [float(a) for a in sys.argv[11:14]]
    count, words = int(sys.argv[14]), sys.argv[15:]
    torch.cuda.set_device(DEVICE)
    dist.init_process_group("nccl", device_id=DEVICE)
    print("torch", torch.__version__, flush=True)
    cases = {
        "data": lambda: data(*d, rate, weights, targets, count),
        "tensor": lambda: tensor(*t, weights, count),
        "attention": lambda: attention(*h, weights, count),
    }
    for word in words:
        cases[word]()
        torch.cuda.empty_cache()
    dist.destroy_process_group()


main()
