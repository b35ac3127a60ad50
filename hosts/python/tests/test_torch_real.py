"""PyTorch itself, on the host: launches, a registered operator, its gradient."""

from typing import Optional

try:
    import torch
except ImportError:
    from tap import skip_all

    skip_all("no PyTorch here")

import cuttle
from tap import done, fails, ok, same

def test_compiled_first():
    """Nothing has called the operator before torch.compile does."""
    q = torch.randn(1, 2, 9, 8)
    compiled = torch.compile(lambda q: cuttle.torch.attention(q, q, q) * 2, fullgraph=True, backend="aot_eager")
    ok(torch.allclose(compiled(q), 2 * cuttle.torch.attention(q, q, q)), "compiled before any other call")


module = cuttle.loads("""
kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
kernel("double", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = x[i] + x[i] end
end)
kernel("biased", function(x, bias, y)
  local i = threadIdx.x
  y[i] = bias and x[i] + bias[i] or x[i]
end)
kernel("copy", function(x, y)
  if threadIdx.x < size(y) then y[threadIdx.x] = x[threadIdx.x] end
end)
""")


def test_dtypes():
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                  torch.int8, torch.uint8, torch.bool):
        x = torch.arange(16).to(dtype)
        y = torch.zeros(16, dtype=dtype)
        module.copy[1, 32](x, y)
        ok(torch.equal(x, y), str(dtype))


def test_attention():
    torch.manual_seed(0)
    for kv_heads, causal in (4, False), (2, True):
        q = torch.randn(2, 4, 9, 8, requires_grad=True)
        k, v = (torch.randn(2, kv_heads, 9, 8, requires_grad=True) for _ in range(2))
        out = cuttle.torch.attention(q, k, v, causal=causal)
        want = torch.nn.functional.scaled_dot_product_attention(
            q, k.repeat_interleave(4 // kv_heads, 1), v.repeat_interleave(4 // kv_heads, 1), is_causal=causal)
        ok(torch.allclose(out, want, atol=1e-5), f"attention, causal {causal}")
        weight = torch.randn_like(out)
        got = torch.autograd.grad((out * weight).sum(), (q, k, v))
        for x, y, name in zip(got, torch.autograd.grad((want * weight).sum(), (q, k, v)), "qkv"):
            ok(torch.allclose(x, y, atol=1e-4), f"its gradient of {name}, causal {causal}")
        ok(torch.autograd.grad(cuttle.torch.attention(q, k, v).sum(), v)[0].shape == v.shape, "of a sum")
    slopes, ids = torch.rand(4), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1], dtype=torch.int32)
    out = cuttle.torch.attention(q, k, v, alibi=slopes, documents=ids)
    places = torch.arange(9)
    s = q @ k.repeat_interleave(2, 1).transpose(2, 3) / 8 ** 0.5
    s = s - slopes[:, None, None] * (places[:, None] - places).abs()
    p = s.masked_fill(ids[:, None] != ids, -torch.inf).softmax(-1)
    want = p @ v.repeat_interleave(2, 1)
    ok(torch.allclose(out, want, atol=1e-5), "ALiBi and documents")
    for x, y in zip(*(torch.autograd.grad(t.sin().sum(), (q, k, v), retain_graph=True) for t in (out, want))):
        ok(torch.allclose(x, y, atol=1e-4), "their gradients")
    v = torch.eye(9).repeat(2, 4, 1, 1).requires_grad_()
    kept = cuttle.torch.attention(q, q, v, dropout=0.25, seed=3)
    weight = torch.randn_like(kept)
    ok(torch.allclose(torch.autograd.grad((kept * weight).sum(), v)[0], kept.transpose(2, 3) @ weight, atol=1e-4),
       "dropout's gradient drops the same")
    v = torch.randn(2, 2, 9, 8, requires_grad=True)
    out = cuttle.torch.attention(q, k, v, window=(2, 1), softcap=0.5)
    s = 0.5 * torch.tanh(q @ k.repeat_interleave(2, 1).transpose(2, 3) / 8 ** 0.5 / 0.5)
    ahead = torch.arange(9)[None, :] - torch.arange(9)[:, None]
    p = s.masked_fill((ahead < -2) | (ahead > 1), -torch.inf).softmax(-1)
    want = p @ v.repeat_interleave(2, 1)
    ok(torch.allclose(out, want, atol=1e-5), "a window and a soft-cap")
    for x, y in zip(*(torch.autograd.grad(t.sin().sum(), (q, k, v), retain_graph=True) for t in (out, want))):
        ok(torch.allclose(x, y, atol=1e-4), "their gradients")
    starts, parts = [0, 4, 9], (slice(0, 4), slice(4, 9))
    packed = [t[0].detach().requires_grad_() for t in (q, k, v)]
    out = cuttle.torch.attention(*packed, causal=True, cu_seqlens_q=starts, cu_seqlens_k=starts, deterministic=True)
    want = torch.cat([cuttle.torch.attention(*(t[None, :, s] for t in packed), causal=True)[0] for s in parts], 1)
    ok(torch.allclose(out, want, atol=1e-5), "packed sequences")
    for x, y in zip(torch.autograd.grad(out.sin().sum(), packed), torch.autograd.grad(want.sin().sum(), packed)):
        ok(torch.allclose(x, y, atol=1e-5), "their gradients")
    narrow = torch.randn(2, 2, 9, 5, requires_grad=True)
    out, rows = cuttle.torch.attention(q, k, narrow, causal=True), torch.ones(9, 9).tril().bool()
    p = (q @ k.repeat_interleave(2, 1).transpose(2, 3) / 8 ** 0.5).masked_fill(~rows, -torch.inf).softmax(-1)
    want = p @ narrow.repeat_interleave(2, 1)
    ok(torch.allclose(out, want, atol=1e-5), "values of another depth")
    for x, y in zip(*(torch.autograd.grad(t.sin().sum(), (q, k, narrow), retain_graph=True) for t in (out, want))):
        ok(torch.allclose(x, y, atol=1e-4), "their gradients")
    compiled = torch.compile(lambda q, k, v: cuttle.torch.attention(q, k, v) * 2, fullgraph=True, backend="aot_eager")
    ok(torch.allclose(compiled(q, k, narrow), cuttle.torch.attention(q, k, narrow) * 2), "compiled")
    compiled = torch.compile(lambda q, k, v: cuttle.torch.attention(q, k, v) * 2, fullgraph=True, backend="aot_eager")
    x = torch.autograd.grad(compiled(q, k, v).sum(), q)[0]
    ok(torch.allclose(x, torch.autograd.grad(cuttle.torch.attention(q, k, v).sum() * 2, q)[0], atol=1e-5), "compiled")


def test_masks_and_scores():
    """Options of cuttle.attention that are tensors, beside PyTorch's own arithmetic."""
    torch.manual_seed(1)
    q, k, v = torch.randn(2, 4, 9, 8), torch.randn(2, 4, 9, 8), torch.randn(2, 4, 9, 8)
    scores, places = q @ k.transpose(2, 3) / 8 ** 0.5, torch.arange(9)
    slopes, bias, sinks = torch.rand(4), torch.randn(4, 9, 9), torch.randn(4)
    ids = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2], dtype=torch.int32)

    def like(s):
        return s.softmax(-1) @ v

    ok(torch.allclose(cuttle.attention(q, k, v, alibi=slopes), like(
        scores - slopes[:, None, None] * (places[:, None] - places).abs()), atol=1e-5), "ALiBi")
    ok(torch.allclose(cuttle.attention(q, k, v, bias=bias), like(scores + bias), atol=1e-5), "a bias")
    ok(torch.allclose(cuttle.attention(q, k, v, documents=ids), like(
        scores.masked_fill(ids[:, None] != ids, -torch.inf)), atol=1e-5), "documents")
    more = torch.cat([scores, sinks[None, :, None, None].expand(2, 4, 9, 1)], -1).softmax(-1)[..., :9]
    ok(torch.allclose(cuttle.attention(q, k, v, sinks=sinks), more @ v, atol=1e-5), "sinks")
    kept = cuttle.attention(q, k, torch.eye(9).expand(2, 4, 9, 9), dropout=0.25, seed=3)
    all_of = scores.softmax(-1) / 0.75
    ok(torch.all((kept == 0) | torch.isclose(kept, all_of, atol=1e-6)), "what is not dropped grows")
    ok(0.15 < (kept == 0).float().mean() < 0.35, "a quarter is dropped")
    out, lse = cuttle.attention(q, k, v, lse=True, sinks=sinks, causal=True, window=(3, 0))
    made = cuttle.attention_backward(torch.ones_like(out), q, k, v, out, lse, sinks=sinks, causal=True, window=(3, 0))
    x = [t.clone().requires_grad_() for t in (q, k, v)]
    behind = places[:, None] - places
    s = (x[0] @ x[1].transpose(2, 3) / 8 ** 0.5).masked_fill((behind < 0) | (behind > 3), -torch.inf)
    p = torch.cat([s, sinks[None, :, None, None].expand(2, 4, 9, 1)], -1).softmax(-1)[..., :9]
    for a, b in zip(made, torch.autograd.grad((p @ x[2]).sum(), x)):
        ok(torch.allclose(a, b, atol=1e-4), "gradients with sinks and a window")


def test_narrow():
    torch.manual_seed(3)
    q, k, v = (torch.randn(1, 2, 20, 16).to(torch.float8_e4m3fn) for _ in range(3))
    out = torch.zeros(1, 2, 20, 16, dtype=torch.bfloat16)
    cuttle.attention(q, k, v, out, q_scale=0.5, k_scale=torch.tensor([1.0, 2.0]), v_scale=3.0)
    s = 0.5 * q.float() @ (k.float() * torch.tensor([1.0, 2.0])[:, None, None]).transpose(2, 3) / 4
    ok(torch.allclose(out.float(), 3 * s.softmax(-1) @ v.float(), atol=2e-2), "f8e4m3 and its scales")
    _, lse = cuttle.attention(q, k, v, out, v_scale=3.0, lse=True)
    made = cuttle.attention_backward(torch.ones_like(out), q, k, v, out, lse, v_scale=3.0)
    x = [q.float().requires_grad_(), k.float().requires_grad_(), (3 * v.float()).requires_grad_()]
    p = (x[0] @ x[1].transpose(2, 3) / 4).softmax(-1)
    for a, b in zip(made, torch.autograd.grad((p @ x[2]).sum(), x)):
        ok(torch.allclose(a.float(), b, atol=5e-2), "gradients of f8e4m3")
    fails(ValueError, "pass out=", lambda: cuttle.attention(q, k, v), "its result needs a wider type")


def test_decode():
    torch.manual_seed(2)
    q, k, v = torch.randn(2, 4, 8), torch.randn(2, 2, 20, 8), torch.randn(2, 2, 20, 8)
    lengths = torch.tensor([20, 7], dtype=torch.int32)

    def want(q, k, v, n):
        k, v = (t[:, :n].repeat_interleave(2, 0) for t in (k, v))
        return ((q[:, None] @ k.transpose(1, 2) / 8 ** 0.5).softmax(-1) @ v)[:, 0]

    out = cuttle.attention_decode(q, k, v, cache_seqlens=lengths)
    for b, n in enumerate(lengths.tolist()):
        ok(torch.allclose(out[b], want(q[b], k[b], v[b], n), atol=1e-5), f"decode, sequence {b}")
    table = torch.tensor([[4, 1, 3, 0, 2], [9, 8, 7, 6, 5]], dtype=torch.int32)
    pools = []
    for t in (k, v):
        pool = torch.empty(10, 2, 4, 8)
        pool[table.long()] = t.reshape(2, 2, 5, 4, 8).transpose(1, 2)
        pools.append(pool)
    paged = cuttle.attention_decode(q, *pools, cache_seqlens=lengths, block_table=table)
    ok(torch.allclose(paged, out, atol=1e-6), "pages")
    new = torch.randn(2, 2, 1, 8), torch.randn(2, 2, 1, 8)
    room = [torch.cat([t, torch.zeros(2, 2, 4, 8)], 2) for t in (k, v)]
    out = cuttle.attention_decode(q, *room, *new, cache_seqlens=lengths)
    for b, n in enumerate(lengths.tolist()):
        grown = [torch.cat([t[b][:, :n], x[b]], 1) for t, x in zip((k, v), new)]
        ok(torch.allclose(out[b], want(q[b], *grown, n + 1), atol=1e-5), f"what is appended is seen, sequence {b}")
        ok(torch.equal(room[0][b][:, n], new[0][b][:, 0]), "and is in the cache")


def test_operator():
    def launch(a: float, x: torch.Tensor, y: torch.Tensor):
        return (y.numel() + 255) // 256, 256

    saxpy = cuttle.torch.register(module.saxpy, "cuttle_test::saxpy", launch, mutates=["y"])
    x, y = torch.arange(1000.0), torch.ones(1000)
    saxpy(2.0, x, y)
    ok(torch.equal(y, 2 * x + 1), "an operator that writes its argument")

    def place(x: torch.Tensor, bias: Optional[torch.Tensor], y: torch.Tensor):
        return 1, 4

    biased = cuttle.torch.register(module.biased, "cuttle_test::biased", place, mutates=["y"])
    x, y = torch.arange(4.0), torch.zeros(4)
    biased(x, None, y)
    ok(torch.equal(y, x), "a tensor that may be None")
    biased(x, torch.ones(4), y)
    ok(torch.equal(y, x + 1), "or is there")
    torch.library.opcheck(biased, (x, None, y))

    def backward(ctx, grad):
        return 2 * grad

    double = cuttle.torch.register(module.double, "cuttle_test::double", lambda x: ((x.numel() + 255) // 256, 256),
                                   outputs=torch.empty_like, backward=backward)
    x = torch.arange(10.0, requires_grad=True)
    double(x).sum().backward()
    ok(torch.equal(x.grad, torch.full((10,), 2.0)), "its gradient")
    torch.library.opcheck(double, (torch.arange(10.0),))
    torch.library.opcheck(saxpy, (2.0, torch.arange(10.0), torch.ones(10)))
    same(True, True, "torch.library.opcheck finds nothing")


def test_autograd():
    """What is overwritten after an operation saved it is an error of backward, as in PyTorch."""
    def writes(write, name):
        w = torch.ones(4, requires_grad=True)
        y = w.exp()
        write(y)
        fails(RuntimeError, "modified by an inplace operation", lambda: y.sum().backward(), name)

    zeros = torch.zeros(4)
    writes(lambda y: module.copy[1, 32](zeros, y), "a launch")
    writes(lambda y: cuttle.matmul(torch.ones(2, 2), torch.ones(2, 2), y.view(2, 2)), "an operator")
    w = torch.ones(4, requires_grad=True)
    y = w.exp()
    module.copy[1, 32](y, zeros)
    y.sum().backward()
    ok(torch.equal(w.grad, y), "reading changes nothing")
    with torch.inference_mode():
        t = torch.zeros(4)
        module.copy[1, 32](torch.ones(4), t)
        ok(torch.equal(t, torch.ones(4)), "tensors of inference have no version")
    t = torch.zeros(4)
    x = torch.full((4,), 1 + 2j).conj().imag
    fails(BufferError, "negative bit", lambda: module.copy[1, 32](x, t), "the negative bit")
    module.copy[1, 32](x.resolve_neg(), t)
    same(t.tolist(), [-2.0] * 4, "resolved")


def test_capture():
    """Products that need memory beside the operands: in each graph it is the graph's own."""
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        return
    a, b = (torch.randn(2304, 512, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    ways = {"split": 2}, {"config": "hopper 256x128x64, stream-K"}
    out, graphs = [torch.zeros(2304, 2304, device="cuda", dtype=torch.bfloat16) for _ in ways], []
    for y, way in zip(out, ways):
        cuttle.matmul(a, b.t(), y, **way)
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            cuttle.matmul(a, b.t(), y, **way)
    for _ in range(2):
        a.normal_()
        for graph in graphs:
            graph.replay()
        want = a.float() @ b.float().t()
        for y, way in zip(out, ways):
            ok(torch.allclose(y.float(), want, rtol=1e-2, atol=0.5), f"a product in a graph: {way}")


test_compiled_first()
test_dtypes()
test_attention()
test_masks_and_scores()
test_narrow()
test_decode()
test_operator()
test_autograd()
test_capture()
done()
