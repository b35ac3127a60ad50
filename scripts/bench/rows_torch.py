# rows_torch.py: operators of rows through PyTorch, forward and backward, beside torch.compile and, where it can be
# imported, Liger; each beside the device's copy of the same shape. First the errors of each against float64.
# Usage: PYTHONPATH=build/python python3 scripts/bench/rows_torch.py [ROWSxCOLUMNS ...]
# Without a GPU it only compares, at a small size.
import sys

import torch
import torch.nn.functional as F

import cuttle.torch as ct

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BATCH_MS, BATCHES, WARM = 60, 7, 3
SHAPES = sys.argv[1:] or (["32768x1024", "32768x4096", "8192x32768"] if DEVICE.type == "cuda" else ["64x256"])


def rotated(x, cos, sin, position):
    c, s = cos[position[:, 0]].to(x.dtype), sin[position[:, 0]].to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


# Ours, PyTorch's, what they take, and how many tensors of x's size the forward and the backward pass read and write.
OPERATORS = {
    "rms_norm": (ct.rms_norm, lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6), "x w", 2, 3),
    "layer_norm": (ct.layer_norm, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), "x w b", 2, 3),
    "softmax": (ct.softmax, lambda x: x.softmax(-1), "x", 2, 3),
    "cross_entropy": (ct.cross_entropy, F.cross_entropy, "x target", 1, 2),
    "swiglu": (ct.swiglu, lambda x, up: F.silu(x) * up, "x up", 3, 5),
    "geglu": (ct.geglu, lambda x, up: F.gelu(x) * up, "x up", 3, 5),
    "rotary_halves": (ct.rotary_halves, rotated, "x cos sin position", 2, 2),
}


def liger():
    """Liger's functions by our names, where it is installed."""
    try:
        from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
    except ImportError:
        return {}
    return {"rms_norm": lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6),
            "swiglu": LigerSiLUMulFunction.apply,
            "cross_entropy": lambda x, t: LigerCrossEntropyFunction.apply(x, t, None, -100, 0.0, 0.0, "mean", None,
                                                                          False)[0]}


def data(rows, columns):
    torch.manual_seed(0)
    made = {"x": torch.randn(rows, columns), "up": torch.randn(rows, columns), "w": torch.rand(columns) + 0.5,
            "b": torch.randn(columns)}
    made = {name: t.to(DEVICE, torch.bfloat16).requires_grad_() for name, t in made.items()}
    angles = torch.arange(rows)[:, None] * 10.0 ** torch.linspace(0, -4, columns // 2)
    made |= {"target": torch.randint(0, columns, (rows,), device=DEVICE), "cos": angles.cos().to(DEVICE),
             "sin": angles.sin().to(DEVICE), "position": torch.arange(rows, device=DEVICE)[:, None]}
    return made


def both(f, args):
    """The result of f, and the gradients of what it takes."""
    y = f(*args)
    weights = torch.linspace(-1, 1, 1021, device=DEVICE).repeat(y.numel() // 1021 + 1)[:y.numel()]
    d = weights.reshape(y.shape).bfloat16().to(y.dtype)
    return [y, *torch.autograd.grad(y, [t for t in args if t.requires_grad], d)]


def errors(f, args, exact):
    """The largest differences from float64, relative to its largest number."""
    return " ".join(f"{((t.double() - e).abs().max() / e.abs().max().clamp(min=1e-30)).item():.1e}"
                    for t, e in zip(both(f, args), exact))


def milliseconds(run):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def batch(n):
        start.record()
        for _ in range(n):
            run()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / n

    batch(WARM)
    n = max(1, int(BATCH_MS / max(batch(WARM), 1e-3)))
    return sorted(batch(n) for _ in range(BATCHES))[BATCHES // 2]


def rates(f, args, tensors, n_bytes):
    """TB/s of the forward pass, and of the backward pass alone."""
    with torch.no_grad():
        forward = milliseconds(lambda: f(*args))
    y, inputs = f(*args), [t for t in args if t.requires_grad]
    d = torch.ones_like(y)
    backward = milliseconds(lambda: torch.autograd.grad(y, inputs, d, retain_graph=True))
    return tensors[0] * n_bytes / forward / 1e9, tensors[1] * n_bytes / backward / 1e9


def compare(name, given, copy_rate):
    ours, theirs, names, *tensors = OPERATORS[name]
    args = [given[n] for n in names.split()]
    exact = both(theirs, [t.detach().double().requires_grad_() if t.requires_grad else t for t in args])
    ways = {"ours": ours, "eager": theirs, "compiled": torch.compile(theirs)}
    if name in liger():
        ways["liger"] = liger()[name]
    if DEVICE.type != "cuda":
        del ways["compiled"]
    for way, f in ways.items():
        line = f"{name:14} {way:9} errors {errors(f, args, exact)}"
        if copy_rate is not None:
            n_bytes = given["x"].numel() * 2
            line += "  " + "  ".join(f"{r:.3f} TB/s = {r / copy_rate:.3f}" for r in rates(f, args, tensors, n_bytes))
        print(line, flush=True)


for shape in SHAPES:
    rows, columns = (int(n) for n in shape.split("x"))
    given, rate = data(rows, columns), None
    if DEVICE.type == "cuda":
        to = torch.empty_like(given["x"])
        rate = 4 * to.numel() / milliseconds(lambda: to.copy_(given["x"])) / 1e9
    print(f"{shape} bf16" + (f": the copy {rate:.3f} TB/s; forward, backward" if rate else ""), flush=True)
    for name in OPERATORS:
        torch.compiler.reset()
        compare(name, given, rate)
