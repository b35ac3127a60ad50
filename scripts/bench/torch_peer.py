# torch_peer.py: what the programs that run PyTorch beside a benchmark have in common: requests, and
# times of launches. See peer.lua.
import sys
import time

try:
    import torch
except ImportError as e:
    print("error", e, flush=True)
    sys.exit(1)


def timed(launch, idle, warm, sync, reps):
    """Idles `idle` ms, launches `warm` times, waits if sync is "1", and launches `reps` times between
    two events; ms of a launch, as text."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    time.sleep(float(idle) * 1e-3)
    for _ in range(int(warm)):
        launch()
    if sync == "1":
        torch.cuda.synchronize()
    start.record()
    for _ in range(int(reps)):
        launch()
    stop.record()
    stop.synchronize()
    return "%.6f" % (start.elapsed_time(stop) / int(reps))


def serve(make_peer):
    """Says that it is ready, or why not, and answers each line "NAME ARGUMENT..." by that method of
    the peer: "ok ..." or "error ...". The program's first argument is the device."""
    if not torch.cuda.is_available():
        print("error PyTorch has no CUDA device", flush=True)
        return
    torch.cuda.set_device(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("ok PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version(), flush=True)
    peer = make_peer()
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            with torch.no_grad():
                print("ok", getattr(peer, name)(*arguments), flush=True)
        except Exception as e:  # what went wrong is the answer
            print("error", name + ":", str(e).replace("\n", " "), flush=True)
