"""Kernels as operators of PyTorch, which torch.compile and autograd know; and attention as one.

    saxpy = cuttle.torch.register(k, "mylib::saxpy", launch, mutates=["y"])
    out = cuttle.torch.attention(q, k, v, causal=True)

`launch` has the kernel's parameters, with annotations, and says grid and block.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import operators

_TYPES = {"float": "float", "int": "int", "bool": "bool", "Tensor": "Tensor", "": "Tensor"}
_OPTIONAL = re.compile(r"(typing\.)?Optional\[([\w.]+\.)?Tensor\]|([\w.]+\.)?Tensor \| None")


def _type_of(parameter: inspect.Parameter) -> str:
    """PyTorch's name for the type of a parameter; without an annotation it is a tensor."""
    a = parameter.annotation
    is_optional = a is not parameter.empty and _OPTIONAL.fullmatch(a if isinstance(a, str) else str(a))
    name = "" if a is parameter.empty else a if isinstance(a, str) else getattr(a, "__name__", str(a))
    kind = "Tensor?" if is_optional else _TYPES.get(name.split(".")[-1])
    if kind is None or parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        raise TypeError(f"register: parameter {parameter}; a plain one was expected, annotated with "
                        "torch.Tensor, Optional[torch.Tensor], float, int or bool")
    return kind


def schema(launch: Callable[..., Any], mutates: Sequence[str], n_outputs: int) -> str:
    """The operator's signature, "(float a, Tensor x, Tensor(a0!) y) -> ()"."""
    items: List[str] = []
    parameters = inspect.signature(launch).parameters
    unknown = [name for name in mutates if name not in parameters]
    if unknown:
        raise ValueError(f"register: mutates names {unknown}; the parameters are {list(parameters)}")
    for name, parameter in parameters.items():
        kind = _type_of(parameter)
        if name in mutates:
            if not kind.startswith("Tensor"):
                raise TypeError(f"register: mutates names '{name}', which is a {kind} and no tensor")
            kind = kind.replace("Tensor", f"Tensor(a{len(items)}!)")
        items.append(f"{kind} {name}")
    results = "()" if n_outputs == 0 else "Tensor" if n_outputs == 1 else f"({', '.join(['Tensor'] * n_outputs)})"
    return f"({', '.join(items)}) -> {results}"


def _all(made: Any) -> Tuple[Any, ...]:
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def register(kernel: Any, name: str, launch: Callable[..., Any], *, mutates: Sequence[str] = (),
             outputs: Optional[Callable[..., Any]] = None, n_outputs: int = 1,
             backward: Optional[Callable[..., Any]] = None,
             setup_context: Optional[Callable[..., Any]] = None,
             device_types: Any = None, config: Optional[dict] = None) -> Any:
    """Registers a kernel as the operator `name`, "namespace::name", and returns it.

    launch(*args) -> (grid, block): its parameters are the operator's. They are annotated with torch.Tensor
    (or nothing), Optional[torch.Tensor] for one that may be None, float, int or bool.
    mutates: names of the parameters that the kernel writes.
    outputs(*args) -> tensor, or tuple of n_outputs: makes the results, which the kernel gets after the
    arguments. It runs on PyTorch's fake tensors, too, so it must not look at values.
    backward(ctx, *grads), setup_context(ctx, inputs, output): the gradient, as in torch.library.
    config: other options of each launch: cluster, smem, pdl, cooperative.
    """
    import torch

    if outputs is None:
        n_outputs = 0
        if not mutates:
            raise ValueError("register: the kernel has no results; name what it writes in mutates, or give "
                             "outputs")
    extra = dict(config or {})

    def run(*args: Any) -> Any:
        made = () if outputs is None else _all(outputs(*args))
        grid, block = launch(*args)
        configured = kernel.config(grid, block, **extra) if extra else kernel[grid, block]
        configured(*args, *made)
        return None if n_outputs == 0 else made[0] if n_outputs == 1 else made

    def fake(*args: Any) -> Any:
        return None if outputs is None else outputs(*args)

    op = torch.library.custom_op(name, run, mutates_args=tuple(mutates), device_types=device_types,
                                 schema=schema(launch, mutates, n_outputs))
    op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward, setup_context=setup_context)
    return op


def _save(ctx: Any, inputs: Tuple[Any, ...], output: Tuple[Any, ...]) -> None:
    q, k, v, *ctx.options = inputs
    ctx.save_for_backward(q, k, v, *output)


def _gradients(ctx: Any, grad: Any, _grad_lse: Any) -> Tuple[Any, ...]:
    import torch

    made = torch.ops.cuttle.attention_backward(grad, *ctx.saved_tensors, *ctx.options)
    return (*made, *(None for _ in ctx.options))


def _define_attention() -> Any:
    """The operators cuttle::attention and cuttle::attention_backward; the first one is returned."""
    import torch

    tail = "bool causal, float? scale, int[]? cu_seqlens_q, int[]? cu_seqlens_k, int[]? window, float? softcap, " \
           "bool deterministic"

    def define(name: str, run: Callable[..., Any], fake: Callable[..., Any], signature: str) -> Any:
        op = torch.library.custom_op(name, run, mutates_args=(), schema=signature)
        op.register_fake(fake)
        return op

    def shared(causal: bool, scale: Optional[float], of_q: Any, of_k: Any, window: Any,
               softcap: Optional[float]) -> Dict[str, Any]:
        return {"causal": causal, "scale": scale, "cu_seqlens_q": of_q, "cu_seqlens_k": of_k, "window": window,
                "softcap": softcap}

    def forward(q: Any, k: Any, v: Any, *options: Any) -> Any:
        return operators.attention(q, k, v, lse=True, **shared(*options[:-1]))

    def backward(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, *options: Any) -> Any:
        return operators.attention_backward(do.contiguous(), q, k, v, o, lse, deterministic=options[-1],
                                            **shared(*options[:-1]))

    op = define("cuttle::attention", forward,
                lambda q, k, v, *_: (q.new_empty(q.shape[:-1] + v.shape[-1:]),
                                     q.new_empty(q.shape[:-1], dtype=torch.float32)),
                f"(Tensor q, Tensor k, Tensor v, {tail}) -> (Tensor, Tensor)")
    op.register_autograd(_gradients, setup_context=_save)
    define("cuttle::attention_backward", backward,
           lambda do, q, k, v, *_: tuple(t.new_empty(t.shape) for t in (q, k, v)),
           f"(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, {tail}) -> (Tensor, Tensor, Tensor)")
    return op


_attention: Any = None


def attention(q: Any, k: Any, v: Any, *, causal: bool = False, scale: Optional[float] = None,
              cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, window: Any = None,
              softcap: Optional[float] = None, deterministic: bool = False) -> Any:
    """Softmax attention with gradients, in place of torch.nn.functional.scaled_dot_product_attention.

    q is (B, H, S, D), k and v are (B, Hk, Sk, D), where Hk divides H; v may have another depth. With `causal`, query i sees the keys up to
    i + Sk - S. `scale` is 1/sqrt(D) by default. `cu_seqlens_q` and `cu_seqlens_k`, lists of integers, say where
    packed sequences begin, the number of tokens last; q is then (H, T, D). `window`: how many keys are seen before
    and behind a query's place, -1 for all. `softcap`: a score s becomes softcap tanh(s / softcap). `deterministic`:
    gradients have the same bits in all runs.
    """
    global _attention
    if _attention is None:
        _attention = _define_attention()
    return _attention(q, k, v, causal, scale, operators.starts(cu_seqlens_q), operators.starts(cu_seqlens_k),
                      None if window is None else list(window), softcap, deterministic)[0]
