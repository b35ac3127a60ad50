"""cuttle.torch.expert_layer and its gradients beside plain PyTorch, eager and compiled; and training steps."""

try:
    import torch
    from torch.nn import functional
except ImportError:
    from tap import skip_all

    skip_all("no PyTorch here")

import cuttle.torch
from tap import done, ok

torch.manual_seed(0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
T, D, F, E, K = 40, 16, 8, 4, 2


def data(*shape):
    return (torch.randn(*shape, device=DEVICE) / 2).requires_grad_()


def ours(x, gate_up, down, logits):
    return cuttle.torch.expert_layer(x, gate_up, down, logits, K)


def plain(x, gate_up, down, logits):
    weights, chosen = torch.topk(logits, K)
    y = 0
    for j, weight in enumerate(torch.softmax(weights, -1).unbind(-1)):
        both = torch.einsum("td,tfd->tf", x, gate_up[chosen[:, j]])
        hidden = functional.silu(both[:, 0::2]) * both[:, 1::2]
        y = y + weight[:, None] * torch.einsum("tf,tdf->td", hidden, down[chosen[:, j]])
    return y


def results(f, xs):
    y = f(*xs)
    weights = torch.linspace(-1, 1, y.numel(), device=DEVICE).reshape(y.shape)
    return (y, *torch.autograd.grad((y * weights).sum(), xs))


def test_gradients():
    xs = data(T, D), data(E, 2 * F, D), data(E, D, F), data(T, E)
    want = results(plain, xs)

    def again(*args):
        return cuttle.torch.expert_layer(*args, K, recompute=True)

    for text, f in ("", ours), (", computed again", again), (", compiled", None), (", again, compiled", None):
        if f is None:
            f = torch.compile(again if "again" in text else ours, backend="aot_eager", fullgraph=True)
        for name, a, b in zip(("y", "dx", "dgate_up", "ddown", "dlogits"), results(f, xs), want):
            ok(a.shape == b.shape and (a - b).abs().max() < 1e-4 * b.abs().max(), f"{name}{text}")


def test_packed():
    from cuttle import packed
    x, gate_up, down, logits = (t.detach().bfloat16() for t in (data(T, 64), data(E, 128, 64), data(E, 64, 64),
                                                                data(T, E)))
    logits = logits.float()
    for name, group in ("u4", 64), ("f4e2m1", 32):
        up, to = (packed.quantize_weights(w, name, group) for w in (gate_up, down))
        want = ours(x, packed.dequantize(up), packed.dequantize(to), logits)
        compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)
        for text, f in ("", ours), (", compiled", compiled):
            y = f(x, up, to, logits)
            ok(y.dtype == x.dtype and (y - want).abs().max() < 2e-2 * want.abs().max(), f"packed {name}{text}")
        compiled = torch.compile(lambda *args: cuttle.torch.expert_layer(*args, K, quantize="fp8_rows"),
                                 backend="aot_eager", fullgraph=True)
        narrow = compiled(x, up, to, logits)
        ok(torch.equal(narrow, cuttle.torch.expert_layer(x, up, to, logits, K, quantize="fp8_rows")),
           f"rows of 8 bits, packed {name}, compiled")
        ok(0 < (narrow - want).abs().max() < 0.1 * want.abs().max(), f"rows of 8 bits, packed {name}")
    bias = data(E, 128).detach(), data(E, 64).detach()
    gpt = [cuttle.torch.expert_layer(x, up, to, logits, K, bias=bias, activation=name)
           for name in ("swiglu", "clamped_swiglu")]
    ok((gpt[0] - gpt[1]).abs().max() > 1e-2 * gpt[0].abs().max(), "another activation")
    try:
        ours(x, up, down, logits)
        ok(False, "one packed weight")
    except TypeError as wrong:
        ok("pass both" in str(wrong), "one packed weight")


# The router of DeepSeek V3.
def test_deepseek():
    correction = data(E).detach()

    def of_groups(x, gate_up, down, logits):
        return cuttle.torch.expert_layer(x, gate_up, down, logits, K, score="sigmoid", correction_bias=correction,
                                         groups=(2, 1), scale=2.5)

    def wanted(x, gate_up, down, logits):
        scores = torch.sigmoid(logits)
        groups = (scores + correction).reshape(T, 2, -1)
        best = groups.topk(2, -1).values.sum(-1).argmax(-1)
        mask = torch.zeros(T, 2, device=DEVICE).scatter(1, best[:, None], 1).bool()
        chosen = groups.masked_fill(~mask[..., None], -torch.inf).reshape(T, -1).topk(K, -1).indices
        weights = scores.gather(1, chosen)
        both = torch.einsum("td,tkfd->tkf", x, gate_up[chosen])
        rows = torch.einsum("tkf,tkdf->tkd", functional.silu(both[..., ::2]) * both[..., 1::2], down[chosen])
        return (rows * (2.5 * weights / weights.sum(-1, keepdim=True))[..., None]).sum(1)

    xs = data(T, D), data(E, 2 * F, D), data(E, D, F), data(T, E)
    compiled = torch.compile(of_groups, backend="aot_eager", fullgraph=True)
    for text, f in ("", of_groups), (", compiled", compiled):
        for name, a, b in zip(("y", "dx", "dgate_up", "ddown", "dlogits"), results(f, xs), results(wanted, xs)):
            ok((a - b).abs().max() < 1e-4 * b.abs().max(), f"{name} by DeepSeek V3's router{text}")


# The experts of gpt-oss: blocks and scales of MXFP4 as its checkpoint has them, and its activation.
def test_gpt_oss():
    from cuttle import packed

    def weight(n, k, low):
        blocks = torch.randint(0, 256, (E, n, k // 32, 16), dtype=torch.uint8, device=DEVICE)
        scales = torch.randint(low, low + 4, (E, n, k // 32), dtype=torch.uint8, device=DEVICE)
        numbers = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6], device=DEVICE)
        codes = torch.stack((blocks & 15, blocks >> 4), -1).flatten(3).long()
        values = numbers[codes & 7] * torch.where(codes >= 8, -1, 1) * 2.0 ** (scales.float() - 127)[..., None]
        words = packed.pack_weights(blocks.flatten(2).view(torch.int32), scales, "f4e2m1")
        pairs = blocks.flatten(2)
        for kind in filter(None, (torch.uint8, getattr(torch, "float4_e2m1fn_x2", None))):
            w = packed.pack_weights(pairs.view(kind), scales, "mxfp4")
            ok(w.shape == words.shape and torch.equal(w.codes, words.codes), f"codes as {kind}")
        return words, values.flatten(2)

    (up, wide_up), (down, wide_down) = weight(128, 64, 124), weight(64, 64, 120)
    x, logits, *bias = (data(*of).detach() for of in ((T, 64), (T, E), (E, 128), (E, 64)))
    x = x.bfloat16()
    y = cuttle.torch.expert_layer(x, up, down, logits, K, bias=bias, activation="clamped_swiglu")
    weights, chosen = torch.topk(logits, K)
    both = torch.einsum("td,tkfd->tkf", x.float(), wide_up[chosen]) + bias[0][chosen]
    gate, to = both[..., ::2].clamp(max=7), both[..., 1::2].clamp(-7, 7)
    rows = torch.einsum("tkf,tkdf->tkd", gate * torch.sigmoid(1.702 * gate) * (to + 1), wide_down[chosen])
    want = ((rows + bias[1][chosen]) * torch.softmax(weights, -1)[..., None]).sum(1)
    ok((y - want).abs().max() < 1e-2 * want.abs().max(), "experts of gpt-oss")


class Block(torch.nn.Module):
    """A residual block of experts as a model has it, with all gates before all ups."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.norm, self.router = torch.nn.RMSNorm(D), torch.nn.Linear(D, E, bias=False)
        self.gate, self.up = (torch.nn.Parameter(torch.randn(E, F, D) / 2) for _ in range(2))
        self.down = torch.nn.Parameter(torch.randn(E, D, F) / 2)

    def forward(self, x):
        h = self.norm(x)
        gate_up = torch.stack((self.gate, self.up), 2).flatten(1, 2)
        return x + self.layer(h, gate_up, self.down, self.router(h))


# Sequences of tokens through a module, and the gradients of all of its parameters.
def test_block():
    def flat(x, gate_up, down, logits):
        return plain(x.flatten(0, 1), gate_up, down, logits.flatten(0, 1)).reshape(x.shape)

    x = data(2, T // 2, D)
    block = Block(ours).to(DEVICE)
    other = Block(flat).to(DEVICE)
    other.load_state_dict(block.state_dict())
    compiled = torch.compile(block, backend="aot_eager", fullgraph=True)
    names = ("y", "dx", *(f"d{name}" for name, _ in block.named_parameters()))
    for text, f in ("", block), (", compiled", compiled):
        got = results(lambda x, *_: f(x), (x, *block.parameters()))
        want = results(lambda x, *_: other(x), (x, *other.parameters()))
        for name, a, b in zip(names, got, want):
            ok(a.shape == b.shape and (a - b).abs().max() < 1e-4 * b.abs().max(), f"{name} of a block{text}")
    with torch.no_grad():
        ok(torch.allclose(block(x), other(x), atol=1e-4), "a block without gradients")


# A step in a graph, of other tokens than it was captured with.
def test_graph():
    if DEVICE == "cpu":
        return
    xs = data(T, D), data(E, 2 * F, D), data(E, D, F), data(T, E)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        results(ours, xs)
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        made = results(ours, xs)
    for t in xs:
        t.detach().copy_(torch.randn_like(t) / 2)
    graph.replay()
    for name, a, b in zip(("y", "dx", "dgate_up", "ddown", "dlogits"), made, results(ours, xs)):
        ok(torch.equal(a, b), f"{name} in a graph")


def test_training():
    x, target = data(T, D).detach(), data(T, D).detach()
    gate_up, down, router = data(E, 2 * F, D), data(E, D, F), data(E, D)
    optimizer, losses = torch.optim.SGD((gate_up, down, router), lr=0.05), []
    for _ in range(20):
        loss = functional.mse_loss(ours(x, gate_up, down, x @ router.T), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ok(losses[-1] < 0.9 * losses[0], f"the loss falls: {losses[0]:.3f} to {losses[-1]:.3f}")


test_gradients()
test_packed()
test_deepseek()
test_gpt_oss()
test_block()
test_graph()
test_training()
done()
