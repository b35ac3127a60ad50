"""Kernels as operators of PyTorch, which torch.compile and autograd know; attention and operators of rows as such.

    saxpy = cuttle.torch.register(k, "mylib::saxpy", launch, mutates=["y"])
    out = cuttle.torch.attention(q, k, v, causal=True)
    loss = cuttle.torch.cross_entropy(logits, target)

`launch` has the kernel's parameters, with annotations, and says grid and block.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .torch_attention import attention
from .torch_experts import expert_layer
from .torch_quantized import quantize, rms_norm_quantized, swiglu_quantized
from .torch_rows import (add_layer_norm, add_rms_norm, cross_entropy, dropout, entropy, geglu, group_norm,
                         kl_divergence, layer_norm, linear_cross_entropy, log_softmax, rms_norm, rms_norm_swiglu,
                         rotary_halves, rotary_pairs, softmax, swiglu)
from .torch_selections import sample, top_k

__all__ = ["add_layer_norm", "add_rms_norm", "attention", "cross_entropy", "dropout", "entropy", "expert_layer",
           "geglu", "group_norm", "kl_divergence", "layer_norm", "linear_cross_entropy", "log_softmax", "quantize",
           "register", "rms_norm", "rms_norm_quantized", "rms_norm_swiglu", "rotary_halves", "rotary_pairs", "sample",
           "schema", "softmax", "swiglu", "swiglu_quantized", "top_k"]

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
    config: other options of each launch, as Kernel.config has them: cluster, smem, pdl and so on.
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
