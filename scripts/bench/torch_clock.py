# torch_clock.py: this process among those of torchrun, and times of what its device does, for ranks_torch.py and
# train_torch.py; as ranks_clock.lua of ours.
import os

import torch
import torch.distributed as dist

BATCHES, WARM = 7, 3

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def agreed(number):
    """Rank 0's number, on all ranks."""
    t = torch.tensor([number], dtype=torch.float64, device=DEVICE)
    dist.broadcast(t, 0)
    return t.item()


def between_events(launch, reps):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(reps):
        launch()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / reps


def median(times):
    return sorted(times)[len(times) // 2]


def back_to_back(launch, batch_ms, least=1):
    """Milliseconds of a call, in batches of batch_ms and of `least` calls."""
    for _ in range(WARM):
        launch()
    reps = max(least, int(batch_ms / max(agreed(between_events(launch, WARM)), 1e-3)))
    times = []
    for _ in range(BATCHES):
        dist.barrier()
        times.append(between_events(launch, reps))
    return median(times)
