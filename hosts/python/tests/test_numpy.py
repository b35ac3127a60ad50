"""NumPy: arrays in launches, products and attention."""

try:
    import numpy as np
except ImportError:
    from tap import skip_all

    skip_all("no NumPy here")

import sys

import cuttle
import memory as m
from tap import done, fails, ok, same

module = cuttle.loads("""
kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
function all(...) return ... end
kernel("above", function(x, out, least) out[threadIdx.x] = x[threadIdx.x] > least end)
kernel("transpose", function(a, out)
  local i, j = threadIdx.x, threadIdx.y
  if i < size(a, 0) and j < size(a, 1) then out[{j, i}] = a(i, j) end
end)
""", device="cpu")


def close(got, want, name, tolerance=1e-5):
    error = float(np.abs(np.asarray(got, dtype="f8") - want).max()) if want.size else 0.0
    ok(got.shape == want.shape and error <= tolerance, name, f"shape {got.shape}, {want.shape}; error {error}")


def test_launches():
    x, y = np.arange(1000, dtype="f4"), np.ones(1000, dtype="f4")
    module.saxpy[4, 256](2.0, x, y)
    close(y, 2.0 * np.arange(1000) + 1, "saxpy")
    module.saxpy[4, 256](np.float32(1.0), x[::-1].copy(), y)
    close(y, np.arange(1000) + 1000.0, "a number of NumPy")
    same(module.all(np.bool_(True), np.int8(-1), np.float16(0.5)), (True, -1, 0.5), "NumPy's bool is a bool")
    fails(cuttle.Error, "a bool and a number", lambda: module.saxpy[4, 256](np.bool_(True), x, y), "in a launch, too")
    a = np.arange(12, dtype="i4").reshape(3, 4)
    out = np.zeros((4, 3), dtype="i4")
    module.transpose[1, (4, 4)](a, out)
    close(out, a.T, "transpose")
    module.transpose[1, (4, 4)](a.T, out.T)
    close(out, a.T, "of transposed views")
    frozen = np.zeros(8, dtype="f4")
    frozen.flags.writeable = False
    fails((cuttle.Error, BufferError), "read", lambda: module.saxpy[1, 8](1.0, frozen, frozen), "a frozen array")
    chosen = np.zeros(8, dtype="?")
    module.above[1, 8](np.arange(8, dtype="f4"), chosen, 5.0)
    same(chosen.tolist(), [False] * 6 + [True] * 2, "bools")
    fails(BufferError, "argument 2: ", lambda: module.saxpy[1, 8](1.0, np.zeros(8, "M8[s]"), x), "dates")
    refs = sys.getrefcount(x)
    for _ in range(100):
        module.saxpy[4, 256](0.0, x, y)
    same(sys.getrefcount(x), refs, "arrays are let go")


def test_matmul():
    r = np.random.default_rng(1)
    a, b = r.random((5, 7), "f4"), r.random((7, 3), "f4")
    close(cuttle.matmul(a, b), a @ b, "a product")
    out = np.ones((5, 3), "f4")
    ok(cuttle.matmul(a, b, out, alpha=2.0, beta=3.0) is out, "out= is the result")
    close(out, 2 * (a @ b) + 3, "alpha and beta")
    close(cuttle.matmul(b.T, a.T), (a @ b).T, "of transposed views")
    bias = r.random(3, "f4")
    close(cuttle.matmul(a, b, bias=bias), a @ b + bias, "bias")
    a3, b3 = r.random((2, 5, 7), "f4"), r.random((2, 7, 3), "f4")
    close(cuttle.matmul(a3, b3), a3 @ b3, "in batches")
    close(cuttle.matmul(a, b3), a @ b3, "of one matrix with many")
    close(cuttle.matmul(a3, b), a3 @ b, "and of many with one")
    ai, bi = r.integers(-9, 9, (4, 6), "i1"), r.integers(-9, 9, (6, 5), "i1")
    fails(ValueError, "pass out=", lambda: cuttle.matmul(ai, bi), "bytes need a wider out")
    close(cuttle.matmul(ai, bi, np.zeros((4, 5), "i4")), ai.astype("i4") @ bi.astype("i4"), "which they get")
    h, g = r.random((16, 16)).astype("f2"), r.random((16, 16)).astype("f2")
    close(cuttle.matmul(h, g), (h.astype("f4") @ g.astype("f4")).astype("f2"), "halves", 1e-2)
    fails(ValueError, "K, which is", lambda: cuttle.matmul(a, a), "extents that differ, as Python has them")
    fails(ValueError, "were expected", lambda: cuttle.matmul(a, bias), "a vector")
    fails(ValueError, "(5, 3) was expected", lambda: cuttle.matmul(a, b, np.zeros((3, 5), "f4")), "a wrong out")
    square = r.random((4, 4), "f4")
    fails(cuttle.Error, "shares memory", lambda: cuttle.matmul(square, square.copy(), square),
          "an out that is an operand")


def test_beta():
    a = np.ones((2, 2), "f4")
    fails(ValueError, "there is no out", lambda: cuttle.matmul(a, a, beta=1.0), "beta needs something to add")
    out = np.full((2, 2), 3.0, "f4")
    close(cuttle.matmul(a, a, out, beta=1.0), np.full((2, 2), 5.0), "which out is")
    close(cuttle.matmul(a, a, beta=0.0), np.full((2, 2), 2.0), "0 times nothing is nothing")


def test_attention():
    r = np.random.default_rng(2)
    q, k, v = (r.random((2, 4, n, 16), "f4") for n in (5, 9, 9))
    s = np.einsum("bhsd,bhtd->bhst", q, k) / 4
    p = np.exp(s - s.max(-1, keepdims=True))
    want = np.einsum("bhst,bhtd->bhsd", p / p.sum(-1, keepdims=True), v)
    close(cuttle.attention(q, k, v), want, "attention")
    out, lse = cuttle.attention(q, k, v, lse=True)
    close(out, want, "with the logarithms of the sums")
    close(lse, np.log(np.exp(s).sum(-1)), "which are right")
    mask = np.arange(9)[None, :] <= np.arange(5)[:, None] + 4
    p = np.where(mask, np.exp(s * 0.5 * 4 - 2), 0)
    want = np.einsum("bhst,bhtd->bhsd", p / p.sum(-1, keepdims=True), v)
    close(cuttle.attention(q, k, v, causal=True, scale=0.5), want, "causal, with a scale")
    into = np.zeros_like(q)
    ok(cuttle.attention(q, k, v, into) is into and into.any(), "out= is the result")
    fails(cuttle.Error, "", lambda: cuttle.attention(q, k[:, :3], v), "heads that do not fit")
    if m.has_proc():
        for _ in range(20):
            cuttle.attention(q, k, v, into)
        before = m.rss()
        for _ in range(150):
            cuttle.attention(q, k, v, into)
        ok(m.rss() - before < 4000, "150 calls need no more memory", f"{before} to {m.rss()} KiB")


def test_other_types():
    """Arrays of ml_dtypes, which NumPy does not export."""
    try:
        import ml_dtypes
    except ImportError:
        print("# no ml_dtypes here")
        return
    module = cuttle.loads('''kernel("twice", function(x, y)
      local i = threadIdx.x
      if i < size(x) then y[i] = cast(2 * cast(x[i], f32), y.dtype) end
    end)''', device="cpu")
    for dtype in ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
        x, y = np.arange(8).astype(dtype)[::2], np.zeros(4, dtype)
        module.twice[1, 32](x, y)
        same(y.astype("f4").tolist(), [0.0, 4.0, 8.0, 12.0], f"an array of {np.dtype(dtype)}")
        y.flags.writeable = False
        fails(cuttle.Error, "read-only", lambda: module.twice[1, 32](x, y), "one that is read-only")
    a = np.ones((4, 4), ml_dtypes.bfloat16)
    same(cuttle.matmul(a, a).astype("f4").tolist(), [[4.0] * 4] * 4, "matmul takes them")
    other = np.ones(4, ml_dtypes.float8_e4m3fnuz)
    fails(BufferError, "DLPack", lambda: module.twice[1, 32](other, other), "a type that Cuttle does not have")


test_launches()
test_other_types()
test_matmul()
test_beta()
def test_gradients():
    rng = np.random.default_rng(3)
    q, do = (rng.standard_normal((2, 4, 5, 8)).astype("float32") for _ in range(2))
    k, v = (rng.standard_normal((2, 2, 7, 8)).astype("float32") for _ in range(2))
    o, lse = cuttle.attention(q, k, v, causal=True, lse=True)
    k4, v4, q8, g = (x.astype("float64") for x in (k.repeat(2, 1), v.repeat(2, 1), q, do))
    s = q8 @ k4.swapaxes(-1, -2) / 8 ** 0.5
    p = np.exp(s - lse[..., None]) * np.tril(np.ones((5, 7)), 2)
    dp = g @ v4.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / 8 ** 0.5
    want = (ds @ k4, ds.swapaxes(-1, -2) @ q8, p.swapaxes(-1, -2) @ g)
    got = cuttle.attention_backward(do, q, k, v, o, lse, causal=True)
    close(got[0], want[0], "dq")
    again = cuttle.attention_backward(do, q, k, v, o, lse, causal=True, deterministic=True)
    ok(all((x == y).all() for x, y in zip(got, again)), "deterministic")
    starts = np.array([0, 5])
    packed = cuttle.attention_backward(do[0], q[0], k[0], v[0], o[0], lse[0], causal=True, cu_seqlens_q=starts,
                                       cu_seqlens_k=[0, 7])
    ok(all((x[0] == y).all() for x, y in zip(got, packed)), "one packed sequence")
    for x, y, name in (got[1], want[1], "dk"), (got[2], want[2], "dv"):
        close(x, y.reshape(2, 2, 2, 7, 8).sum(2), name)
    pool = [np.concatenate([x[0, :, 4:], x[0, :, :1] * np.nan, x[0, :, :4]], 1).reshape(2, 2, 4, 8).swapaxes(0, 1)
            for x in (k, v)]
    paged = cuttle.attention(q[0], *pool, causal=True, cu_seqlens_q=starts, cache_seqlens=[7],
                             block_table=np.array([[1, 0]], "int32"))
    close(paged, o[0].astype("float64"), "keys in two pages")


def test_rows():
    import cuttle.rows as rows
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((3, 40)).astype("float32"), rng.standard_normal(40).astype("float32")
    y, scale = rows.rms_norm(x, w, 1e-6)
    want = 1 / np.sqrt((x.astype("float64") ** 2).mean(-1, keepdims=True) + 1e-6)
    close(y, x * want * w, "rms_norm")
    close(scale, want, "its scale")
    dx, dw = rows.rms_norm_backward(y, x, w, scale)
    close(dw, (y * x * want).sum(0), "dweight", 1e-4)
    out = np.empty_like(x)
    ok(rows.softmax(x, out=out) is out, "out")
    close(out, np.exp(x) / np.exp(x).sum(-1, keepdims=True), "softmax")
    weight, target = rng.standard_normal((50, 40)).astype("float32"), np.zeros((3, 1), "int32")
    logits = x.astype("float64") @ weight.T.astype("float64")
    lse = np.log(np.exp(logits).sum(-1))
    loss, got = rows.linear_cross_entropy(x, weight, target, chunk=16, z=0.5)
    want = lse - logits[:, 0] + 0.5 * lse * lse
    ok(np.allclose(got[:, 0], lse, atol=1e-4) and np.allclose(loss[:, 0], want, rtol=1e-4, atol=1e-3),
       "a loss in chunks, with options")
    ok("rms_norm" in dir(rows) and not hasattr(rows, "nothing"), "names")


def test_experts():
    import cuttle.experts as experts
    rng, (t, d, f, e, k) = np.random.default_rng(1), (9, 16, 8, 4, 2)
    x, logits = rng.standard_normal((t, d), "f4"), rng.standard_normal((t, e), "f4")
    gate_up, down = rng.standard_normal((e, 2 * f, d), "f4"), rng.standard_normal((e, d, f), "f4")
    routing = experts.route(logits, k)
    chosen = np.argsort(-logits, -1, kind="stable")[:, :k]
    counts = np.bincount(chosen.ravel(), minlength=e)
    ok((routing.ends == counts.cumsum()).all(), "ends of experts")
    order = np.argsort(chosen.ravel(), kind="stable")
    ok((routing.places == order).all() and (routing.tokens == order // k).all(), "pairs in the order of experts")
    weights = np.exp(np.take_along_axis(logits, chosen, -1).astype("f8"))
    weights /= weights.sum(-1, keepdims=True)
    close(routing.weights, weights.ravel()[order], "routing weights")
    want = np.zeros((t, d))
    for i in range(t):
        for j in range(k):
            both = gate_up[chosen[i, j]].astype("f8") @ x[i]
            hidden = both[::2] / (1 + np.exp(-both[::2])) * both[1::2]
            want[i] += weights[i, j] * (down[chosen[i, j]] @ hidden)
    close(experts.expert_layer(x, gate_up, down, routing), want, "a layer of experts", 1e-3)
    dy = rng.standard_normal((t, d), "f4")
    names = ("x", "gate_up", "down", "routing weights")
    for name, got, like in zip(names, experts.expert_layer_backward(dy, x, gate_up, down, routing),
                               (x, gate_up, down, routing.weights)):
        at = np.unravel_index(np.abs(got).argmax(), got.shape)
        moved = [np.array(like), np.array(like)]
        moved[0][at] -= 1e-2
        moved[1][at] += 1e-2
        values = []
        for m in moved:
            a = dict(zip(names, (x, gate_up, down, routing.weights)), **{name: m})
            y = experts.expert_layer(a["x"], a["gate_up"], a["down"], routing._replace(weights=a["routing weights"]))
            values.append((y.astype("f8") * dy).sum())
        ok(got.shape == like.shape and abs((values[1] - values[0]) / 2e-2 - got[at]) < 1e-2 * abs(got[at]),
           f"the gradient of {name} is the slope")
    kept = np.zeros((t * k, 2 * f), "f4")
    close(experts.expert_layer(x, gate_up, down, routing, kept=kept), want, "a layer that keeps gates and ups", 1e-3)
    made = (experts.expert_layer_backward(dy, x, gate_up, down, routing, kept=of) for of in (None, kept))
    for name, again, once in zip(names, *made):
        close(once, again, f"the gradient of {name} by what was kept", 1e-3)
    dlogits, given = experts.route_backward(routing.weights, logits, routing), np.zeros_like(logits)
    ok(experts.route_backward(routing.weights, logits, routing, out=given) is given and np.array_equal(dlogits, given),
       "gradients of logits, also in memory that is there")
    fails(ValueError, "gate_up (4, 8, 16) and down (4, 16, 8); (T, D), (E, 2F, D)",
          lambda: experts.expert_layer(x, gate_up[:, ::2], down, routing), "gates without ups")
    out = np.ones((t, d), "f4")
    close(experts.expert_layer(x, gate_up, down, routing, combine="atomic", out=out), want + 1, "added", 1e-3)


def test_packed():
    import cuttle.experts as experts
    import cuttle.packed as packed
    rng, (t, d, f, e, k) = np.random.default_rng(2), (9, 64, 64, 4, 2)
    codes = rng.integers(0, 16, (40, 128), "u1")
    scales, points = rng.integers(1, 3, (40, 2)).astype("f2"), rng.integers(0, 16, (40, 2)).astype("u1")
    w = packed.pack_weights(codes, scales, "u4", points)
    values = (codes.astype("f8") - np.repeat(points, 64, 1)) * np.repeat(scales, 64, 1)
    ok(w.shape == (40, 128) and (packed.dequantize(w, "f16") == values).all(), "codes come back")
    words = (codes.reshape(40, 16, 8).astype("u4") << 4 * np.arange(8, dtype="u4")).sum(-1, dtype="u4").view("i4")
    again = packed.pack_weights(words, scales, "u4", points)
    ok(again.shape == w.shape and (again.codes == w.codes).all(), "codes as words")
    x = rng.integers(-2, 3, (5, 128)).astype("f2")
    close(packed.matmul(x, w), x.astype("f8") @ values.T, "a product with a packed weight", 1e-3)
    bytes_of_scales = rng.integers(126, 129, (40, 4)).astype("u1")
    mx = packed.pack_weights(words, bytes_of_scales, "f4e2m1")
    numbers = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])[codes & 7] * np.where(codes & 8, -1, 1)
    ok((packed.dequantize(mx, "f16") == numbers * 2.0 ** (np.repeat(bytes_of_scales, 32, 1) - 127.0)).all(),
       "MXFP4 with bytes of scales")
    pairs, byte = codes[:, ::2] | codes[:, 1::2] << 4, np.full((40, 8), 0x40, "u1")
    two, nv = packed.pack_weights(pairs, bytes_of_scales, "mxfp4"), packed.pack_weights(pairs, byte, "nvfp4")
    ok(two.shape == mx.shape and two.spread == mx.spread == 2 and (two.codes == mx.codes).all(), "two codes in a byte")
    close(packed.matmul(x, nv, alpha=0.5), x.astype("f8") @ numbers.T, "NVFP4 with a scale of the tensor", 1e-3)
    up = packed.quantize_weights(rng.standard_normal((e, 2 * f, d)).astype("f2"), "u4", 64, zero_points=True)
    down = packed.quantize_weights(rng.standard_normal((e, d, f)).astype("f2"), "nf4", 32)
    x, routing = rng.standard_normal((t, d)).astype("f2"), experts.route(rng.standard_normal((t, e), "f4"), k)
    want = experts.expert_layer(x, packed.dequantize(up, "f16"), packed.dequantize(down, "f16"), routing)
    close(experts.expert_layer(x, up, down, routing), want, "a layer of packed experts", 1e-2 * np.abs(want).max())
    for weights, format in ((up, down), "int8_rows"), (
            [packed.quantize_weights(packed.dequantize(w, "f16"), "mxfp4") for w in (up, down)], "fp8_rows"):
        want = experts.expert_layer(x, *weights, routing)
        narrow = experts.expert_layer(x, *weights, routing, quantize=format)
        close(narrow, want, f"a layer of {format}", 0.1 * np.abs(want).max())
        ok((narrow != want).any(), f"{format} are not the tokens")
    bias = rng.standard_normal((e, 2 * f)).astype("f4"), rng.standard_normal((e, d)).astype("f4")
    made = [experts.expert_layer(x, *w, routing, activation="clamped_swiglu", bias=bias)
            for w in ((up, down), (packed.dequantize(up, "f16"), packed.dequantize(down, "f16")))]
    close(made[0], made[1], "with biases", 1e-2 * np.abs(made[1]).max())


def test_deepseek():
    """A layer as DeepSeek V3 has it: codes of f8e4m3 with scales of blocks, its router, and a shared expert."""
    import cuttle.experts as experts
    import cuttle.packed as packed
    rng, (t, d, f, e, k, block) = np.random.default_rng(3), (9, 128, 64, 16, 4, 64)
    number = [(m / 8 * 2.0 ** -6 if x == 0 else (1 + m / 8) * 2.0 ** (x - 7)) for x in range(16) for m in range(8)]
    number = np.array(number + [-v for v in number])

    def weight(n, rows, columns):
        codes = rng.integers(0, 240, (n, rows, columns), "u1")
        codes = np.where(codes < 120, codes, codes + 8)       # neither NaN
        scales = rng.uniform(1, 2, (n, rows // block, columns // block)).astype("f4") / np.float32(512)
        return (packed.pack_weights(codes, scales, "f8e4m3"),
                number[codes] * np.repeat(np.repeat(scales, block, 1), block, 2))

    def expert(row, up, down):
        both = up @ row
        return down @ (both[::2] / (1 + np.exp(-both[::2])) * both[1::2])

    x, logits = rng.standard_normal((t, d)).astype("f2") / 8, rng.standard_normal((t, e), "f4")
    correction = rng.standard_normal(e).astype("f4")
    (up, wide_up), (down, wide_down) = weight(e, 2 * f, d), weight(e, d, f)
    (up_1, wide_up_1), (down_1, wide_down_1) = weight(1, 2 * f, d), weight(1, d, f)
    routing = experts.route(logits, k, score="sigmoid", correction_bias=correction, groups=(4, 2), scale=2.5)
    y = experts.expert_layer(x, up, down, routing)
    shared = experts.expert_layer(x, up_1, down_1, experts.route(np.zeros((t, 1), "f4"), 1))
    want = np.zeros((t, d))
    for i, row in enumerate(x.astype("f8")):
        scores = 1 / (1 + np.exp(-logits[i].astype("f8")))
        groups = (scores + correction).reshape(4, -1)
        best = np.argsort(-np.sort(groups, 1)[:, -2:].sum(1))[:2]
        limited = np.full_like(groups, -np.inf)
        limited[best] = groups[best]
        chosen = np.argsort(-limited.ravel())[:k]
        for c in chosen:
            want[i] += 2.5 * scores[c] / scores[chosen].sum() * expert(row, wide_up[c], wide_down[c])
        want[i] += expert(row, wide_up_1[0], wide_down_1[0])
    close(y.astype("f8") + shared, want, "a layer of DeepSeek V3", 1e-2 * np.abs(want).max())


def test_selections():
    import cuttle.selections as selections
    x = np.random.default_rng(6).integers(-9, 9, (3, 1000)).astype("int32")
    ok((selections.scan(x) == x.cumsum(-1)).all(), "scan")
    offsets, y = np.array([0, 100, 3000], dtype="int32"), x.reshape(-1)
    got = selections.scan(y, "max", offsets=offsets)
    want = [np.maximum.accumulate(y[a:b]) for a, b in ((0, 100), (100, 3000))]
    ok((got == np.concatenate(want)).all(), "segments")
    keys, places = selections.sort(x, np.tile(np.arange(1000, dtype="int32"), (3, 1)))
    ok((keys == np.sort(x, -1)).all(), "sort")
    ok((places == np.argsort(x, -1, kind="stable")).all(), "its values")
    ok((selections.argsort(x, descending=True) == np.argsort(-x, -1, kind="stable")).all(), "argsort")
    top, columns = selections.top_k(x, 5)
    ok((top == -np.sort(-x, -1)[:, :5]).all(), "top_k")
    ok((columns == np.argsort(-x, -1, kind="stable")[:, :5]).all(), "its columns")
    kept, n = selections.compact(y, (y > 3).view(np.uint8))
    ok((kept[:n[0]] == y[y > 3]).all(), "compact")
    values, counts, n = selections.unique(y)
    want = np.unique(y, return_counts=True)
    ok((values[:n[0]] == want[0]).all() and (counts[:n[0]] == want[1]).all(), "unique")
    drawn = np.take_along_axis(x, selections.sample(x.astype("float32"), top_k=1), -1)
    ok((drawn == x.max(-1, keepdims=True)).all(), "sample")
    z = np.random.default_rng(7).standard_normal(5000)
    edges = np.linspace(-2, 2, 11)
    ok((selections.histogram(z, edges) == np.histogram(z, edges)[0]).all(), "histogram")


def test_decode():
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal(shape).astype("float32") for shape in ((2, 4, 8), (2, 2, 9, 8), (2, 2, 9, 8)))
    new_k, new_v = (rng.standard_normal((2, 2, 1, 8)).astype("float32") for _ in range(2))
    lengths = np.array([8, 3], "int32")
    out, lse = cuttle.attention_decode(q, k, v, new_k, new_v, cache_seqlens=lengths, lse=True)
    for b, n in enumerate(lengths):
        ok((k[b, :, n] == new_k[b, :, 0]).all() and (v[b, :, n] == new_v[b, :, 0]).all(), "appended to the cache")
        keys, values = (x[b, :, :n + 1].repeat(2, 0).astype("float64") for x in (k, v))
        s = (keys @ q[b, :, :, None])[..., 0] / 8 ** 0.5
        p = np.exp(s - s.max(-1, keepdims=True))
        close(out[b], (p[..., None] * values).sum(1) / p.sum(-1, keepdims=True), "decode")
        close(lse[b], np.log(np.exp(s).sum(-1)), "its lse")
    table = np.array([[1, 2, 0], [5, 4, 3]], "int32")
    pool = [np.ascontiguousarray(x.reshape(2, 2, 3, 3, 8).swapaxes(1, 2).reshape(6, 2, 3, 8)[[2, 0, 1, 5, 4, 3]])
            for x in (k, v)]
    paged = cuttle.attention_decode(q, *pool, cache_seqlens=lengths + 1, block_table=table)
    close(paged, out, "from pages")
    sinks = np.array([0.5, -0.5, 1.0, 0.0], "float32")
    near, lse = cuttle.attention_decode(q, *pool, cache_seqlens=lengths + 1, block_table=table, window=(2, -1),
                                        softcap=1.5, sinks=sinks, lse=True)
    for b, n in enumerate(lengths):
        keys, values = (x[b, :, max(n - 2, 0):n + 1].repeat(2, 0).astype("float64") for x in (k, v))
        s = 1.5 * np.tanh((keys @ q[b, :, :, None])[..., 0] / 8 ** 0.5 / 1.5)
        total = np.exp(s).sum(-1) + np.exp(sinks)
        close(near[b], (np.exp(s)[..., None] * values).sum(1) / total[:, None], "a window, soft-cap and sinks")
        close(lse[b], np.log(total), "their lse")
    chosen = np.array([[-1, 4, 2, -1, 5], [3, -1, -1, -1, 0]], "int32")
    tokens = [rng.standard_normal((6, 2, 1, 8)).astype("float32") for _ in range(2)]
    few = cuttle.attention_decode(q, *tokens, cache_seqlens=np.array([5, 3], "int32"), block_table=chosen, holes=True)
    for b, own in enumerate(([4, 2, 5], [3])):
        keys, values = (x[own, :, 0].swapaxes(0, 1).repeat(2, 0).astype("float64") for x in tokens)
        p = np.exp((keys @ q[b, :, :, None])[..., 0] / 8 ** 0.5)
        close(few[b], (p[..., None] * values).sum(1) / p.sum(-1, keepdims=True), "chosen tokens")
    cache = rng.integers(-127, 128, (2, 1, 9, 8)).astype("int8")
    scales, rope = (rng.random((2, 1, 9, n)).astype("float32") for n in (2, 4))
    wide = np.concatenate([cache * scales.repeat(4, -1), rope], -1).astype("float64")
    q = rng.standard_normal((2, 4, 12)).astype("float32")
    out = cuttle.attention_decode(q, cache, cache, k_rope=rope, k_scale=scales, v_scale=scales)
    s = np.einsum("bhd,bkd->bhk", q, wide[:, 0]) / 12 ** 0.5
    p = np.exp(s - s.max(-1, keepdims=True))
    # scores of 150 in f32 are off by 1e-5, and with them the probabilities of values up to 127
    close(out, p / p.sum(-1, keepdims=True) @ wide[:, 0, :, :8], "parts of keys with scales", 1e-3)


test_attention()
test_gradients()
test_decode()
test_rows()
test_experts()
test_packed()
test_deepseek()
test_selections()
done()
