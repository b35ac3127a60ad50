"""matmul, attention and its gradients of the language, for tensors of any library."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._cuttle import Tensor
from .default import call, state


def _as_library(like: Any, made: Any) -> Any:
    """A tensor of the language as one of the library of another tensor, if that takes it."""
    root = type(like).__module__.split(".")[0]
    for name in f"{root}.dlpack", f"{root}.numpy", root:
        take = getattr(sys.modules.get(name), "from_dlpack", None)
        if take is not None:
            return take(made)
    if root == "jaxlib":
        return sys.modules["jax.dlpack"].from_dlpack(made)
    return made


# Row-major memory beside that of a tensor, on its device.
_BESIDE = """function _empty_beside(x, dtype, shape)
  local made = tensor(dtype or x.dtype, row_major(shape))
  return made.device == x.device and made or made:to(x.device)
end"""


def _empty(like: Any, shape: Sequence[int], dtype: Optional[str] = None) -> Any:
    """A new tensor on the device of another one: of its library, or else the language's, which _as_library turns
    into one of the library when it is full. dtype: None, or "float32"."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return like.new_empty(tuple(shape), dtype=getattr(torch, dtype) if dtype else None)
    library = sys.modules.get(type(like).__module__.split(".")[0])
    if library is not None and library.__name__ in ("numpy", "cupy"):
        return library.empty(tuple(shape), dtype=dtype or like.dtype)
    if not state().has_function("_empty_beside"):
        state().run(_BESIDE, "=cuttle/operators.lua")
    return call("_empty_beside", like, "f32" if dtype else None, tuple(shape))


def _finished(like: Any, out: Any, given: Any) -> Any:
    """The result as the caller gets it; `given`: what it was given for it."""
    return out if out is given or not isinstance(out, Tensor) else _as_library(like, out)


def _options(**values: Any) -> Dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _bits(x: Any) -> int:
    itemsize = getattr(getattr(x, "dtype", None), "itemsize", None)
    return 8 * itemsize if itemsize is not None else 0


def check_tensors(op: str, **tensors: Any) -> None:
    """Raises for what is no tensor of any library."""
    for name, x in tensors.items():
        if not hasattr(x, "shape"):
            raise TypeError(f"{op}: {name} is {type(x)}; a tensor was expected, as PyTorch, CuPy, NumPy and JAX have")


def _product_shape(a: Any, b: Any) -> Tuple[int, ...]:
    if len(a.shape) not in (2, 3) or len(b.shape) not in (2, 3):
        raise ValueError(f"matmul: a has shape {tuple(a.shape)} and b {tuple(b.shape)}; "
                         "(M, K) and (K, N), or (L, M, K) and (L, K, N), were expected")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: a has shape {tuple(a.shape)} and b {tuple(b.shape)}; K, which is {a.shape[-1]} in a "
                         f"and {b.shape[-2]} in b, must be equal")
    m, n = a.shape[-2], b.shape[-1]
    if len(a.shape) == 2 and len(b.shape) == 2:
        return m, n
    counts = [t.shape[0] for t in (a, b) if len(t.shape) == 3]
    return max(counts), m, n


# Where the language has the modes of (L, M, K), (L, K, N) and (L, M, N): batches last, and B as (N, K, L).
_rows = {2: (0, 1), 3: (1, 2, 0)}
_columns = {2: (1, 0), 3: (2, 1, 0)}


def matmul(a: Any, b: Any, out: Any = None, *, alpha: Optional[float] = None,
           beta: Optional[float] = None, bias: Any = None, split: Optional[int] = None,
           config: Optional[str] = None) -> Any:
    """out = alpha * (a @ b) + beta * out + bias, for any strides.

    a is (M, K) or (L, M, K), b (K, N) or (L, K, N), out (M, N) or (L, M, N), bias (N,), one number for each
    column. Without `out` a tensor of a's library and type is made; elements of 8 bits need one. `split` cuts K
    into so many parts, `config` names a configuration; both are chosen where they are not given.
    """
    check_tensors("matmul", a=a, b=b, **_options(out=out))
    shape = _product_shape(a, b)
    given = out
    if out is None:
        if beta is not None and beta != 0:
            raise ValueError(f"matmul: beta is {beta}, but there is no out to be added; pass out=")
        if _bits(a) == 8:
            raise ValueError(f"matmul: sums of {a.dtype} do not fit the type; pass out= with a wider one")
        out = _empty(a, shape)
    if tuple(out.shape) != shape:
        raise ValueError(f"matmul: out has shape {tuple(out.shape)}; {shape} was expected")
    call("matmul", (a, _rows[len(a.shape)]), (b, _columns[len(b.shape)]), (out, _rows[len(shape)]),
         options=_options(alpha=alpha, beta=beta, bias=bias, split=split, config=config))
    return _finished(a, out, given)


def starts(of: Any) -> Optional[List[int]]:
    """Where packed sequences begin, or their lengths: integers of any kind, perhaps a tensor of them."""
    return None if of is None else [int(at) for at in of]


def _masks_and_scores(window: Any, **others: Any) -> Dict[str, Any]:
    return {"window": list(window) if hasattr(window, "__iter__") else window, **others}


def attention(q: Any, k: Any, v: Any, out: Any = None, *, causal: bool = False,
              scale: Optional[float] = None, lse: Any = None, lazy: bool = False,
              cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, cache_seqlens: Any = None,
              block_table: Any = None, window: Any = None,
              softcap: Optional[float] = None, alibi: Any = None, bias: Any = None, documents: Any = None,
              sinks: Any = None, dropout: Optional[float] = None, seed: Optional[int] = None,
              q_scale: Any = None, k_scale: Any = None, v_scale: Any = None, config: Optional[str] = None) -> Any:
    """Softmax attention: out = softmax(scale * q @ k^T) @ v, for each batch and head.

    q is (B, H, S, D), k and v are (B, Hk, Sk, D), where Hk divides H. `scale` is 1/sqrt(D) by default. The depth of v,
    and of out, may differ from that of q and k.
    `lse`: True, or an f32 tensor (B, H, S), for the logarithm of each row's sum; the result is then (out, lse).
    `cu_seqlens_q`, `cu_seqlens_k`: where packed sequences begin, the number of tokens last; q is then (H, T, D).
    With `block_table`, an int32 tensor (B, n), k and v are (pages, Hk, page size, D); `cache_seqlens` has the keys
    of each sequence, in place of `cu_seqlens_k`.
    `window`: how many keys are seen before and behind a query's place, -1 for all. `softcap`, `alibi`, `bias`,
    `documents` and `sinks` are those of the language; all but `bias` may be lists of numbers. `dropout`: the share of
    probabilities that become 0; the same `seed` drops the same. `q_scale`, `k_scale` and `v_scale` are what f8e4m3
    elements are to be multiplied by; such elements need `out`, of a wider type.
    """
    check_tensors("attention", q=q, k=k, v=v, **_options(out=out))
    given, given_lse = out, lse
    if out is None:
        if _bits(q) == 8:
            raise ValueError(f"attention: results of {q.dtype} do not fit the type; pass out= with a wider one")
        out = _empty(q, tuple(q.shape[:-1]) + (v.shape[-1],))
    if lse is True:
        lse = _empty(q, q.shape[:-1], "float32")
    elif lse is False:
        lse = None
    call("attention", q, k, v, options=_options(out=out, causal=causal or None, scale=scale, lse=lse,
                                                q_scale=q_scale, k_scale=k_scale, v_scale=v_scale,
                                                lazy=lazy or None, config=config,
                                                cu_seqlens_q=starts(cu_seqlens_q),
                                                cu_seqlens_k=starts(cu_seqlens_k),
                                                cache_seqlens=starts(cache_seqlens), block_table=block_table,
                                                **_masks_and_scores(window, softcap=softcap, alibi=alibi, bias=bias,
                                                                    documents=documents, sinks=sinks, dropout=dropout,
                                                                    seed=seed)))
    out = _finished(q, out, given)
    return out if lse is None else (out, _finished(q, lse, given_lse))


def attention_backward(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, *, causal: bool = False,
                       scale: Optional[float] = None, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None,
                       deterministic: bool = False, window: Any = None, softcap: Optional[float] = None,
                       alibi: Any = None, bias: Any = None, documents: Any = None, sinks: Any = None,
                       dropout: Optional[float] = None, seed: Optional[int] = None, q_scale: Any = None,
                       k_scale: Any = None, v_scale: Any = None, config: Optional[str] = None,
                       out: Optional[Sequence[Any]] = None) -> Tuple[Any, Any, Any]:
    """The gradients (dq, dk, dv) of attention(q, k, v, lse=True) -> (o, lse); `do` is that of o.

    `causal`, `scale`, packed sequences, masks, scores and scales of f8e4m3 must be the same as in that call.
    `deterministic`: all calls give the same bits. `out`: the three tensors to fill, of the type of `do`.
    """
    check_tensors("attention_backward", do=do, q=q, k=k, v=v, o=o, lse=lse)
    made = [_empty(do, t.shape) for t in (q, k, v)] if out is None else list(out)
    call("attention_backward", do, q, k, v, o, lse,
         options=_options(out=made, causal=causal or None, scale=scale, config=config,
                          deterministic=deterministic or None, cu_seqlens_q=starts(cu_seqlens_q),
                          cu_seqlens_k=starts(cu_seqlens_k), q_scale=q_scale, k_scale=k_scale, v_scale=v_scale,
                          **_masks_and_scores(window, softcap=softcap, alibi=alibi, bias=bias, documents=documents,
                                              sinks=sinks, dropout=dropout, seed=seed)))
    return tuple(_finished(q, t, t if out is not None else None) for t in made)


def attention_decode(q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None, out: Any = None, *,
                     cache_seqlens: Any = None, block_table: Any = None, holes: bool = False,
                     causal: bool = False, scale: Optional[float] = None, k_scale: Any = None, v_scale: Any = None,
                     k_rope: Any = None, tree_mask: Any = None, window: Any = None, softcap: Optional[float] = None,
                     alibi: Any = None, bias: Any = None, sinks: Any = None, lse: Any = None, bits: Optional[str] = None,
                     config: Optional[str] = None) -> Any:
    """Attention of new queries to a cache of keys and values; `k` and `v` are appended to it first.

    q is (B, H, D) or (B, H, S, D), k_cache (B, Hk, Sk, D), or (pages, Hk, page size, D) with block_table (B, n),
    v_cache like it, k and v (B, Hk, S, D). cache_seqlens (B,) and block_table are int32 tensors. With `holes`, numbers
    below 0 in lists of chosen tokens, pages of one key, are left out. `window`, `softcap`, `alibi`, `bias` and `sinks`
    are as in attention. The other options are those of the language's attention_decode. The result is out, or
    (out, lse) with `lse`.
    """
    check_tensors("attention_decode", q=q, k_cache=k_cache, v_cache=v_cache, **_options(k=k, v=v, out=out))
    given, given_lse = out, lse
    shape = tuple(q.shape[:-1]) + (v_cache.shape[-1],)
    if out is None:
        out = _empty(q, shape)
    if lse is True:
        lse = _empty(q, q.shape[:-1], "float32")
    elif lse is False:
        lse = None
    call("attention_decode", q, k_cache, v_cache, options=_options(
        out=out, k=k, v=v, cache_seqlens=cache_seqlens, block_table=block_table, holes=holes or None,
        causal=causal or None, scale=scale, k_scale=k_scale, v_scale=v_scale, k_rope=k_rope, tree_mask=tree_mask,
        lse=lse, bits=bits, config=config,
        **_masks_and_scores(window, softcap=softcap, alibi=alibi, bias=bias, sinks=sinks)))
    out = _finished(q, out, given)
    return out if lse is None else (out, _finished(q, lse, given_lse))
