"""Attention with gradients, for PyTorch: operators that torch.compile takes into its graphs."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from . import operators
from .torch_define import define

_OPTIONS = ("bool causal, float? scale, int[]? cu_seqlens_q, int[]? cu_seqlens_k, int[]? window, float? softcap, "
            "Tensor? alibi, Tensor? documents, float? dropout, SymInt? seed, bool deterministic")
_NAMES = [item.split()[1] for item in _OPTIONS.split(", ")]


def _results(q: Any, _k: Any, v: Any, *_options: Any) -> Tuple[Any, ...]:
    import torch

    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1], dtype=torch.float32)


def _by_name(options: Tuple[Any, ...]) -> Dict[str, Any]:
    return dict(zip(_NAMES, options))


def _forward(made: Tuple[Any, ...], q: Any, k: Any, v: Any, *options: Any) -> None:
    named = _by_name(options)
    del named["deterministic"]
    operators.attention(q, k, v, made[0], lse=made[1], **named)


def _backward(made: Tuple[Any, ...], do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, *options: Any) -> None:
    operators.attention_backward(do, q, k, v, o, lse, out=made, **_by_name(options))


_gradient = define("attention_backward",
                   f"Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, {_OPTIONS}",
                   lambda do, q, k, v, *_: tuple(t.new_empty(t.shape) for t in (q, k, v)), 3, _backward)
_attention = define("attention", f"Tensor q, Tensor k, Tensor v, {_OPTIONS}", _results, 2, _forward)


def _save(ctx: Any, inputs: Tuple[Any, ...], output: Tuple[Any, ...]) -> None:
    q, k, v, *options = inputs
    at = _NAMES.index("alibi")
    ctx.save_for_backward(q, k, v, *output, *options[at:at + 2])
    ctx.options = options[:at], options[at + 2:]


def _gradients(ctx: Any, grad: Any, _grad_lse: Any) -> Tuple[Any, ...]:
    *tensors, alibi, documents = ctx.saved_tensors
    before, after = ctx.options
    made = _gradient(grad.contiguous(), *tensors, *before, alibi, documents, *after)
    return (*made, *(None for _ in _NAMES))


_attention.register_autograd(_gradients, setup_context=_save)


def attention(q: Any, k: Any, v: Any, *, causal: bool = False, scale: Optional[float] = None,
              cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, window: Any = None,
              softcap: Optional[float] = None, alibi: Any = None, documents: Any = None,
              dropout: Optional[float] = None, seed: Optional[int] = None, deterministic: bool = False) -> Any:
    """Softmax attention with gradients, in place of torch.nn.functional.scaled_dot_product_attention.

    q is (B, H, S, D), k and v are (B, Hk, Sk, D), where Hk divides H; v may have another depth. With `causal`, query i
    sees the keys up to i + Sk - S. `scale` is 1/sqrt(D) by default. `cu_seqlens_q` and `cu_seqlens_k`, lists of
    integers, say where packed sequences begin, the number of tokens last; q is then (H, T, D). `window`: how many keys
    are seen before and behind a query's place, -1 for all. `softcap`: a score s becomes softcap tanh(s / softcap).
    `alibi`: the slope of each head, (H,). `documents`: of each token, (S,), the document that it is part of.
    `dropout`: the share of probabilities that become 0; the same `seed` drops the same. `deterministic`: gradients
    have the same bits in all runs. Only q, k and v have gradients.
    """
    return _attention(q, k, v, causal, scale, operators.starts(cu_seqlens_q), operators.starts(cu_seqlens_k),
                      None if window is None else list(window), softcap, alibi, documents, dropout, seed,
                      deterministic)[0]
