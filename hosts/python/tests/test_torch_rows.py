"""cuttle.torch's operators of rows and their gradients beside PyTorch's own, eager and compiled."""

try:
    import torch
    from torch.nn import functional
except ImportError:
    from tap import skip_all

    skip_all("no PyTorch here")

import cuttle
from tap import done, fails, ok

rows = cuttle.torch
torch.manual_seed(0)


def data(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype).requires_grad_()


def results(f, xs):
    """What f returns, and the gradients of a weighted sum of it."""
    y = f(*xs)
    y = y if isinstance(y, tuple) else (y,)
    weights = (torch.linspace(-1, 1, t.numel(), dtype=t.dtype).reshape(t.shape) for t in y)
    loss = sum((t * w).sum() for t, w in zip(y, weights))
    return y + torch.autograd.grad(loss, [x for x in xs if x.requires_grad])


def close(xs, ys, atol):
    return all(x.dtype == y.dtype and torch.allclose(x.float(), y.float(), atol=atol) for x, y in zip(xs, ys))


def beside(name, f, like, *xs, atol=1e-4):
    got, want = results(f, xs), results(like, xs)
    ok(len(got) == len(want) and close(got, want, atol), name)
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    ok(close(results(compiled, xs), got, atol), f"{name}, compiled")


def test_norms():
    x, w, b, residual = data(2, 5, 64), data(64), data(64), data(2, 5, 64)
    beside("rms_norm", rows.rms_norm, lambda x, w: functional.rms_norm(x, (64,), w, 1e-6), x, w)
    beside("layer_norm", rows.layer_norm, lambda x, w, b: functional.layer_norm(x, (64,), w, b), x, w, b)

    def sums(x, r, w):
        return functional.rms_norm(x + r, (64,), w, 1e-6), x + r

    beside("add_rms_norm", rows.add_rms_norm, sums, x, residual, w)
    for i, name in enumerate(("norm", "sum")):
        beside(f"add_rms_norm, only its {name} used", lambda *xs, i=i: rows.add_rms_norm(*xs)[i] + 0 * xs[2].sum(),
               lambda *xs, i=i: sums(*xs)[i] + 0 * xs[2].sum(), x, residual, w)
    beside("add_layer_norm", rows.add_layer_norm,
           lambda x, r, w, b: (functional.layer_norm(x + r, (64,), w, b), x + r), x, residual, w, b)
    image, w, b = data(2, 6, 4, 4), data(6), data(6)
    for form in torch.contiguous_format, torch.channels_last:
        beside(f"group_norm, {form}", lambda x, w, b, form=form: rows.group_norm(x.to(memory_format=form), 3, w, b),
               lambda x, w, b: functional.group_norm(x, 3, w, b), image, w, b)
    x, w = data(4, 256, dtype=torch.bfloat16), data(256, dtype=torch.bfloat16)
    beside("rms_norm in bfloat16", rows.rms_norm, lambda x, w: functional.rms_norm(x, (256,), w, 1e-6), x, w,
           atol=0.05)
    beside("with a weight of float32", rows.rms_norm,
           lambda x, w: functional.rms_norm(x.float(), (256,), w, 1e-6).bfloat16(), x, data(256), atol=0.1)
    fails(ValueError, "residual (256,); the same was expected", lambda: rows.add_rms_norm(x, w, w), "other shapes")


def test_losses():
    x, weight = data(2, 5, 64), data(100, 64)
    target = torch.tensor([[1, 2, -100, 63, 0], [5, 5, 5, -100, 7]])
    for reduction in "mean", "sum", "none":
        for smoothing in 0.0, 0.1:
            options = {"label_smoothing": smoothing, "reduction": reduction}
            beside(f"cross_entropy, {options}", lambda x, options=options: rows.cross_entropy(x, target, **options),
                   lambda x, options=options: functional.cross_entropy(x.transpose(1, 2), target, **options), x)
    far = torch.where(target == 63, 99, target)
    for chunk in None, 32:
        for reduction in "mean", "sum":
            options = {"label_smoothing": 0.2, "reduction": reduction}
            beside(f"linear_cross_entropy, chunk {chunk}, {reduction}",
                   lambda x, w, chunk=chunk, o=options: rows.linear_cross_entropy(x, w, far, chunk=chunk, **o),
                   lambda x, w, o=options: functional.cross_entropy((x @ w.T).transpose(1, 2), far, **o), x, weight)
    with torch.no_grad():
        same = rows.linear_cross_entropy(x, weight, far)
    ok(torch.allclose(same, rows.linear_cross_entropy(x, weight, far)), "linear_cross_entropy, without gradients")
    beside("its z-loss", lambda x, w: rows.linear_cross_entropy(x, w, far, z_loss=0.3, reduction="none"),
           lambda x, w: functional.cross_entropy((x @ w.T).transpose(1, 2), far, reduction="none")
           + torch.where(far == -100, 0.0, 0.3 * (x @ w.T).logsumexp(-1) ** 2), x, weight, atol=1e-3)
    fails(ValueError, "reduction is 'most'", lambda: rows.cross_entropy(x, target, reduction="most"), "a reduction")


def test_elements():
    x, up = data(2, 5, 64), data(2, 5, 64)
    beside("softmax", rows.softmax, lambda x: x.softmax(-1), x)
    beside("log_softmax", rows.log_softmax, lambda x: x.log_softmax(-1), x)
    beside("swiglu", rows.swiglu, lambda g, u: functional.silu(g) * u, x, up)
    beside("geglu", rows.geglu, lambda g, u: functional.gelu(g) * u, x, up)
    beside("geglu by tanh", lambda g, u: rows.geglu(g, u, "tanh"),
           lambda g, u: functional.gelu(g, approximate="tanh") * u, x, up)
    beside("rms_norm_swiglu", rows.rms_norm_swiglu,
           lambda x, g, w: functional.rms_norm(x, (64,), w, 1e-6) * functional.silu(g), x, up, data(64))
    teacher = up.detach()
    beside("kl_divergence", lambda x: rows.kl_divergence(x, teacher),
           lambda x: functional.kl_div(x.log_softmax(-1), teacher.log_softmax(-1), reduction="none",
                                       log_target=True).sum(-1), x)
    beside("entropy", rows.entropy, lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1), x)
    fails(ValueError, "approximate is 'erf'", lambda: rows.geglu(x, up, "erf"), "an approximation")
    cos, sin, at = torch.randn(10, 32), torch.randn(10, 32), torch.randint(0, 10, (2, 5, 1))

    def turned(a, b):
        c, s = cos[at[..., 0]], sin[at[..., 0]]
        return a * c - b * s, b * c + a * s

    beside("rotary_halves", lambda x: rows.rotary_halves(x, cos, sin, at),
           lambda x: torch.cat(turned(x[..., :32], x[..., 32:]), -1), x)
    beside("rotary_pairs", lambda x: rows.rotary_pairs(x, cos, sin, at),
           lambda x: torch.stack(turned(x[..., ::2], x[..., 1::2]), -1).flatten(-2), x)
    y = rows.dropout(x, 0.5, 7)
    ok(torch.all((y == 0) | torch.isclose(y, 2 * x)) and 0.3 < (y == 0).float().mean() < 0.7, "dropout")
    ok(torch.equal(torch.autograd.grad(y.sum(), x)[0], 2.0 * (y != 0)), "its gradient drops the same")


def numbers(q):
    """Elements as float32; of uint8 each has two of f4e2m1."""
    if q.dtype != torch.uint8:
        return q.float()
    codes = torch.stack((q & 15, q >> 4), -1).flatten(-2).long()
    return torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6])[codes & 7] * torch.where(codes >= 8, -1, 1)


def test_formats():
    """Elements times scales are near what is quantised, and the same by rows.quantize_F."""
    x, residual, w = (data(3, 256, dtype=torch.bfloat16).detach() for _ in range(3))
    w = w[0]
    normal, (added, sum_), gated = rows.rms_norm(x, w), rows.add_rms_norm(x, residual, w), rows.swiglu(x, residual)
    for name, error in {"fp8_rows": 0.04, "int8_rows": 0.01, "fp8_blocks": 0.04, "fp8_e5m2_blocks": 0.08,
                        "int8_blocks": 0.01, "mxfp8": 0.13, "mxfp8_e5m2": 0.13, "mxfp4": 0.26}.items():
        calls = {"quantize": (x, lambda: rows.quantize(x, name)),
                 "rms_norm_quantized": (normal, lambda: rows.rms_norm_quantized(x, w, name)),
                 "its residual": (added, lambda: rows.rms_norm_quantized(x, w, name, residual=residual)),
                 "swiglu_quantized": (gated, lambda: rows.swiglu_quantized(x, residual, name))}
        for what, (want, f) in calls.items():
            made = f()
            q, scale = numbers(made[0]), made[1].float()
            near = (q * scale.repeat_interleave(256 // scale.shape[-1], -1) - want.float()).abs().max()
            ok(near < error * want.float().abs().max() and (len(made) < 3 or torch.equal(made[2], sum_)),
               f"{what}, {name}")
            torch._dynamo.reset()
            compiled = torch.compile(f, backend="aot_eager", fullgraph=True)()
            ok(all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(made, compiled)),
               f"{what}, {name}, compiled")
    made = zip(cuttle.rows.quantize_mxfp8(x), rows.quantize(x, "mxfp8"))
    ok(all(a.dtype == b.dtype and torch.equal(a.float(), b.float()) for a, b in made), "scales of 8 bits by DLPack")
    whole = x.float().abs().max() / (6 * 448)
    for scale in whole, whole.item():
        q, scales = rows.quantize(x, "nvfp4", scale)
        near = numbers(q) * scales.float().repeat_interleave(16, -1) * whole
        ok(q.shape == (3, 128) and scales.shape == (3, 16) and (near - x.float()).abs().max() < 0.2 * x.abs().max(),
           f"quantize, nvfp4, {type(scale).__name__}")
    fails(ValueError, "scale is None and the format 'nvfp4'", lambda: rows.quantize(x, "nvfp4"), "no scale")
    fails(ValueError, "expected one of fp8_rows", lambda: rows.swiglu_quantized(x, x, "nvfp4"), "nvfp4 after a gate")
    made = zip(cuttle.rows.quantize_mxfp4(x), rows.quantize(x, "mxfp4"))
    ok(all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in made), "pairs of f4e2m1 by DLPack")
    fails(ValueError, "format is 'fp9'; expected one of fp8_rows", lambda: rows.quantize(x, "fp9"), "a format")


def test_choices():
    x = data(2, 3, 200).detach()
    values, columns = rows.top_k(x, 5)
    want = x.topk(5)
    ok(torch.equal(values, want.values) and torch.equal(columns, want.indices.int()), "top_k")
    ok(torch.equal(rows.top_k(x, 3, smallest=True)[0], x.topk(3, largest=False).values), "its smallest")
    ok(torch.equal(rows.sample(x, top_k=1), x.argmax(-1).int()), "sample of the largest")

    def drawn(x):
        return rows.sample(x, top_p=0.5, temperature=0.7, seed=3), rows.top_k(x, 4)[0]

    torch._dynamo.reset()
    compiled = torch.compile(drawn, backend="aot_eager", fullgraph=True)
    ok(all(torch.equal(a, b) for a, b in zip(drawn(x), compiled(x))), "both, compiled")
    options = {"temperature": [1.0, 0.5], "top_k": [4, 9], "top_p": [0.9, 0.6], "min_p": [0.01, 0.1]}

    own = {name: torch.tensor(v) for name, v in options.items()}

    def each(x):
        return rows.sample(x[0, :2], seed=5, **own)

    alone = [rows.sample(x[0, :2], seed=5, **{name: v[i] for name, v in options.items()})[i] for i in range(2)]
    ok(each(x).tolist() == [int(column) for column in alone], "sample, options for each row")
    compiled = torch.compile(each, backend="aot_eager", fullgraph=True)
    ok(torch.equal(each(x), compiled(x)), "the same, compiled")
    many = torch.stack([rows.sample(x[0, 0], top_p=0.5, seed=s) for s in range(60)])
    p = x[0, 0].softmax(-1)
    ok(len(set(many.tolist())) > 1 and all(p[p > p[i]].sum() < 0.5 for i in many), "only columns of the set")


def test_checks():
    """What PyTorch itself asks of an operator."""
    x, w, target = data(5, 64), data(64), torch.tensor([[1], [2], [-100], [63], [0]])
    calls = {"rms_norm": (x, w, 1e-6), "add_rms_norm": (x, x, w, 1e-6), "cross_entropy": (x, target, -100),
             "cross_entropy_mean": (x, target, -100), "smooth_cross_entropy_mean": (x, target, 0.1, -100),
             "dropout": (x, 0.5, 3),
             "linear_cross_entropy": (x, data(100, 64), target, 0.0, 0.0, -100, None),
             "linear_cross_entropy_gradients": (torch.rand(5, 1), x, data(100, 64), target, 0.1, 0.01, -100)}
    for name, args in calls.items():
        torch.library.opcheck(getattr(torch.ops.cuttle, name), args)
        ok(True, f"torch.library.opcheck of {name}")


def test_training():
    """A model of these operators alone: its loss falls."""
    table, w1, w2 = data(50, 32), data(64, 32), data(32, 32)
    norm = torch.ones(32, requires_grad=True)
    parameters = [table, w1, w2, norm]
    optimizer = torch.optim.Adam(parameters, 0.02)
    tokens = torch.randint(0, 50, (16,))
    losses = []
    for _ in range(40):
        x = rows.rms_norm(table[tokens], norm)
        gate, up = (x @ w1.T).chunk(2, -1)
        loss = rows.linear_cross_entropy(x + rows.swiglu(gate, up) @ w2.T, table, tokens.roll(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ok(losses[-1] < losses[0] / 3, f"the loss falls from {losses[0]:.1f} to {losses[-1]:.1f}")


test_norms()
test_losses()
test_elements()
test_formats()
test_choices()
test_checks()
test_training()
done()
