# rows_torch.py: operators of rows through PyTorch, forward and backward, beside torch.compile and, where they can be
# imported, Liger and Helion; each beside the device's copy of the same shape. First the errors of each against float64,
# of a few rows. On a GPU each is captured in a graph of many calls, so no call waits for Python.
# Usage: PYTHONPATH=build/python python3 scripts/bench/rows_torch.py [--warm] [--ways=ours,liger]
#   [--operators=rms_norm,softmax] [ROWSxCOLUMNS ...]
# --warm fills the compilers' caches and times nothing; --ways says which of ours, eager, compiled, liger and helion run.
# Without a GPU it only compares, at a small size.
import argparse
import gc
import os
import sys

import torch
import torch.nn.functional as F

import cuttle.torch as ct

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
parser = argparse.ArgumentParser()
parser.add_argument("--warm", action="store_true")
parser.add_argument("--ways", default="ours,eager,compiled,liger,helion")
parser.add_argument("--operators", default="")
parser.add_argument("shapes", nargs="*", metavar="ROWSxCOLUMNS")
options = parser.parse_args()
WARM, WAYS = options.warm, options.ways.split(",")
GRAPH_MS, REPLAYS, COMPARED = 4, 9, 64
SHAPES = options.shapes or (
    ["32768x1024", "32768x4096", "8192x32768", "16384x131072"] if DEVICE.type == "cuda" else ["64x256"])


def rotated(x, cos, sin, position):
    c, s = cos[position[:, 0]].to(x.dtype), sin[position[:, 0]].to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


# Ours, PyTorch's, what they take, and how many tensors of x's size the forward and the backward pass read and write.
# Of cross_entropy both passes count together: Liger makes the gradient in the forward pass. Of rotary_halves they also
# count together: torch.compile's forward pass writes angles that only its gradient reads, if it is to have one.
OPERATORS = {
    "rms_norm": (ct.rms_norm, lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6), "x w", 2, 3),
    "layer_norm": (ct.layer_norm, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), "x w b", 2, 3),
    "softmax": (ct.softmax, lambda x: x.softmax(-1), "x", 2, 3),
    "cross_entropy": (ct.cross_entropy, F.cross_entropy, "x target", 1, 3),
    "swiglu": (ct.swiglu, lambda x, up: F.silu(x) * up, "x up", 3, 5),
    "geglu": (ct.geglu, lambda x, up: F.gelu(x) * up, "x up", 3, 5),
    # torch.compile's gradient reads angles that its forward pass has rounded to bf16. With angles of bf16 in memory, all
    # read the same.
    "rotary_halves": (ct.rotary_halves, rotated, "x cos sin position", 2, 2),
    "rotary_narrow": (ct.rotary_halves, rotated, "x narrow_cos narrow_sin position", 2, 2),
}
MOST_COLUMNS = {"geglu": 4096, "rotary_halves": 1024, "rotary_narrow": 1024}
TWO_PASSES = ("cross_entropy",)
AND_BOTH = ("rotary_halves", "rotary_narrow")


def liger():
    """Liger's functions by our names, where it is installed."""
    try:
        from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
        from liger_kernel.ops.layer_norm import LigerLayerNormFunction
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        from liger_kernel.ops.softmax import LigerSoftmaxFunction
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
    except ImportError:
        return {}
    return {"rms_norm": lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6),
            "layer_norm": lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, 1e-5),
            "softmax": LigerSoftmaxFunction.apply,
            "swiglu": LigerSiLUMulFunction.apply,
            "cross_entropy": lambda x, t: LigerCrossEntropyFunction.apply(x, t, None, -100, 0.0, 0.0, "mean", None,
                                                                          False)[0]}


def helion_ways(name, args):
    """Helion's kernels in several configurations; forward only."""
    try:
        import rows_helion
    except ImportError:
        return []
    return rows_helion.ways(name, tuple(t.detach() for t in args))


def data(rows, columns):
    # A generator of its own: after a capture that failed, PyTorch's own generator refuses to draw.
    draws = torch.Generator(device=DEVICE).manual_seed(0)
    made = {"x": (rows, columns), "up": (rows, columns), "w": (columns,), "b": (columns,)}
    made = {name: torch.randn(shape, generator=draws, device=DEVICE, dtype=torch.bfloat16)
            for name, shape in made.items()}
    made["w"] = made["w"].abs() + 0.5
    for t in made.values():
        t.requires_grad_()
    angles = torch.arange(rows, device=DEVICE)[:, None] * torch.logspace(0, -4, columns // 2, device=DEVICE)
    if columns <= MOST_COLUMNS["rotary_halves"]:
        made |= {"cos": angles.cos(), "sin": angles.sin(), "position": torch.arange(rows, device=DEVICE)[:, None]}
        made |= {f"narrow_{name}": made[name].bfloat16() for name in ("cos", "sin")}
    made["target"] = torch.randint(0, columns, (rows,), generator=draws, device=DEVICE)
    return made


def both(f, args):
    """The result of f, and the gradients of what it takes."""
    y = f(*args)
    weights = torch.linspace(-1, 1, 1021, device=DEVICE).repeat(y.numel() // 1021 + 1)[:y.numel()]
    d = weights.reshape(y.shape).bfloat16().to(y.dtype)
    return [y, *torch.autograd.grad(y, [t for t in args if t.requires_grad], d)]


def fresh(args, rows=None):
    """Copies of the arguments, or of their first rows: some functions write to what they are given."""
    n = args[0].shape[0]
    return [(t[:rows] if t.shape[0] == n else t).detach().clone().requires_grad_(t.requires_grad) for t in args]


def errors(f, args, exact):
    """The largest differences from float64, relative to its largest number."""
    return " ".join(f"{((t.double() - e).abs().max() / e.abs().max().clamp(min=1e-30)).item():.1e}"
                    for t, e in zip(both(f, fresh(args, COMPARED)), exact))


def replays_of(run, n):
    """A function that runs it n times, as a graph if it can be captured."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, capture_error_mode="relaxed"):  # autograd's thread may load kernels
            for _ in range(n):
                run()
        return graph.replay, ""
    except Exception as e:
        torch.cuda.synchronize()
        return lambda: [run() for _ in range(n)], f" (no graph: {' '.join(str(e).split())[:110]})"


def milliseconds(run, expected_ms):
    run()
    torch.cuda.synchronize()
    if WARM:
        return 1.0, ""
    n = max(1, int(GRAPH_MS / expected_ms))
    replay, how = replays_of(run, n)
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    replay()
    for _ in range(REPLAYS):
        start.record()
        replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / n)
    return sorted(times)[len(times) // 2], how


def text_of(result, n_bytes, copy_rate):
    ms, how = result
    rate = n_bytes / ms / 1e9
    return f"{rate:.3f} TB/s = {rate / copy_rate:.3f}{how}"


def rates(f, args, tensors, n_bytes, copy_rate, name):
    """The forward pass, and the backward pass alone or both together, or both of these."""
    args = fresh(args)
    plain = [t.detach() for t in args]

    def rate(run, n_tensors):
        moved = n_tensors * n_bytes
        return text_of(milliseconds(run, moved / 4e9), moved, copy_rate)

    with torch.no_grad():
        yield rate(lambda: f(*plain), tensors[0])
    inputs, d = [t for t in args if t.requires_grad], torch.ones_like(f(*args))

    def forward_and_backward():
        torch.autograd.grad(f(*args), inputs, d)

    if name in TWO_PASSES:
        yield rate(forward_and_backward, tensors[1])
        return
    y = f(*args)
    yield rate(lambda: torch.autograd.grad(y, inputs, d, retain_graph=True), tensors[1])
    if name in AND_BOTH:
        yield rate(forward_and_backward, sum(tensors))


def attempt(name, way, make):
    try:
        print(f"{name:14} {way:9} {make()}", flush=True)
    except Exception as e:
        print(f"{name:14} {way:9} fails: {type(e).__name__}: {' '.join(str(e).split())[:150]}", flush=True)
    if DEVICE.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()


def best_of_helion(name, args, exact, tensors, n_bytes, copy_rate):
    few, best = [t.detach() for t in args], None
    for f in helion_ways(name, args):
        y = f(*few)
        y = y[:COMPARED].double() if exact[0].ndim else y[:COMPARED].double().mean()
        if (y - exact[0]).abs().max() > 0.02 * exact[0].abs().max():
            print(f"# helion {name}: a wrong result", flush=True)
            continue
        result = milliseconds(lambda f=f: f(*few), tensors[0] * n_bytes / 4e9)
        best = result if best is None or result < best else best
    return "forward only  " + text_of(best, tensors[0] * n_bytes, copy_rate) if best else "no configuration"


def compare(name, given, copy_rate):
    ours, theirs, names, *tensors = OPERATORS[name]
    args = [given[n] for n in names.split()]
    exact = both(theirs, [t.detach().double().requires_grad_() if t.requires_grad else t
                          for t in fresh(args, COMPARED)])
    ways = {"ours": ours, "eager": theirs, "compiled": torch.compile(theirs, dynamic=False)}
    if name in liger():
        ways["liger"] = liger()[name]
    if DEVICE.type != "cuda":
        del ways["compiled"]
    if WARM:
        ways = {way: ways[way] for way in ways if way in ("ours", "compiled", "liger")}
    ways = {way: ways[way] for way in ways if way in WAYS}
    n_bytes = given["x"].numel() * 2
    for way, f in ways.items():
        def line(f=f, way=way):
            text = "" if way == "compiled" else f"errors {errors(f, args, exact)}  "
            if copy_rate is not None:
                text += "  ".join(rates(f, args, tensors, n_bytes, copy_rate, name))
            return text
        attempt(name, way, line)
    if copy_rate is not None and "helion" in WAYS and name in ("rms_norm", "layer_norm", "softmax", "cross_entropy"):
        attempt(name, "helion", lambda: best_of_helion(name, args, exact, tensors, n_bytes, copy_rate))


sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if DEVICE.type == "cuda":  # PyTorch captures no backward pass that is the first one of a process
    first = torch.ones(8, device=DEVICE, requires_grad=True)
    twice = 2 * first
    replays_of(lambda: torch.autograd.grad(twice, first, torch.ones_like(twice), retain_graph=True), 1)
for shape in SHAPES:
    rows, columns = (int(n) for n in shape.split("x"))
    given, rate = data(rows, columns), None
    if DEVICE.type == "cuda":
        to, source = torch.empty_like(given["x"]), given["x"].detach()
        copies = (lambda: to.copy_(source), lambda: torch.neg(source, out=to))  # large copies by graphs are slow
        rate = max(4 * to.numel() / milliseconds(f, 4 * to.numel() / 4e9)[0] / 1e9 for f in copies)
        del to
    print(f"{shape} bf16" + (f": the copy {rate:.3f} TB/s; forward, backward" if rate else ""), flush=True)
    for name in options.operators.split(",") if options.operators else OPERATORS:
        if columns <= MOST_COLUMNS.get(name, columns):
            torch.compiler.reset()
            compare(name, given, rate)
            if DEVICE.type == "cuda":
                torch.cuda.empty_cache()
    del given
