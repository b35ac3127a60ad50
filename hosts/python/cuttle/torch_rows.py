"""Operators of rows with gradients, for PyTorch: norms, losses, gates, rotary embedding, dropout.

    y = cuttle.torch.rms_norm(x, weight)
    loss = cuttle.torch.cross_entropy(logits, target)

Each is an operator of the language's module cuttle.rows, and its gradient another; torch.compile takes both into its
graphs. Rows are the last dimension.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from . import rows
from .torch_define import define


class _Operator(NamedTuple):
    """An operator of cuttle.rows and its gradient, NAME_backward(gradients of results, *keeps) -> *gives."""

    arguments: str                           # as torch.library writes them
    outputs: Callable[..., Tuple[Any, ...]]  # (*arguments) -> the results, empty
    results: str                             # their names
    keeps: str                               # the arguments and results that the gradient needs, in its order
    gives: Tuple[Tuple[str, str], ...]       # arguments, and what has the shape and type of their gradient
    n_gradients: int = 1                     # so many results, the first ones, have gradients: d0, d1
    options: Tuple[str, ...] = ()            # arguments that the language takes by name
    works_in: str = ""                       # of "forward" and "backward" those that need memory beside the results


def _float32() -> Any:
    import torch

    return torch.float32


def _like(x: Any) -> Any:
    return x.new_empty(x.shape)


def _once(x: Any) -> Any:
    """What each row has once."""
    return x.new_empty((*x.shape[:-1], 1), dtype=_float32())


def _one(x: Any) -> Any:
    """What all rows have once."""
    return x.new_empty((1, 1), dtype=_float32())


def _of_groups(x: Any, groups: Any) -> Any:
    return x.new_empty((x.shape[0], groups, 1), dtype=_float32())


_GATE = _Operator("Tensor gate, Tensor up", lambda gate, up: (_like(gate),), "y", "gate up",
                  (("gate", "gate"), ("up", "up")))
_ROTARY = _Operator("Tensor x, Tensor cos, Tensor sin, Tensor position", lambda x, *_: (_like(x),), "y",
                    "cos sin position", (("x", "d0"),))
_SOFTMAX = _Operator("Tensor x", lambda x: (_like(x),), "y", "y", (("x", "y"),))
_WEIGHT = (("x", "x"), ("weight", "weight"))

_OPERATORS = {
    "rms_norm": _Operator(
        "Tensor x, Tensor weight, float epsilon", lambda x, *_: (_like(x), _once(x)), "y scale", "x weight scale",
        _WEIGHT, works_in="backward"),
    "add_rms_norm": _Operator(
        "Tensor x, Tensor residual, Tensor weight, float epsilon", lambda x, *_: (_like(x), _like(x), _once(x)),
        "y sum scale", "sum weight scale", (("x residual", "sum"), ("weight", "weight")), n_gradients=2,
        works_in="backward"),
    "layer_norm": _Operator(
        "Tensor x, Tensor weight, Tensor bias, float epsilon", lambda x, *_: (_like(x), _once(x), _once(x)),
        "y mean scale", "x weight mean scale", (*_WEIGHT, ("bias", "weight")), works_in="backward"),
    "add_layer_norm": _Operator(
        "Tensor x, Tensor residual, Tensor weight, Tensor bias, float epsilon",
        lambda x, *_: (_like(x), _like(x), _once(x), _once(x)), "y sum mean scale", "sum weight mean scale",
        (("x residual", "sum"), ("weight", "weight"), ("bias", "weight")), n_gradients=2, works_in="backward"),
    "group_norm": _Operator(
        "Tensor x, SymInt groups, Tensor weight, Tensor bias, float epsilon",
        lambda x, groups, *_: (_like(x), _of_groups(x, groups), _of_groups(x, groups)), "y mean scale",
        "x groups weight mean scale", (*_WEIGHT, ("bias", "weight")), works_in="backward"),
    "softmax": _SOFTMAX,
    "log_softmax": _SOFTMAX,
    "cross_entropy": _Operator(
        "Tensor x, Tensor target, SymInt ignored", lambda x, *_: (_once(x), _once(x)), "loss lse",
        "x target lse ignored", (("x", "x"),)),
    "smooth_cross_entropy": _Operator(
        "Tensor x, Tensor target, float smoothing, SymInt ignored", lambda x, *_: (_once(x), _once(x)), "loss lse",
        "x target lse smoothing ignored", (("x", "x"),)),
    "cross_entropy_mean": _Operator(
        "Tensor x, Tensor target, SymInt ignored", lambda x, *_: (_one(x), _one(x), _once(x), _once(x)),
        "mean share loss lse", "share x target lse ignored", (("x", "x"),)),
    "smooth_cross_entropy_mean": _Operator(
        "Tensor x, Tensor target, float smoothing, SymInt ignored",
        lambda x, *_: (_one(x), _one(x), _once(x), _once(x)), "mean share loss lse",
        "share x target lse smoothing ignored", (("x", "x"),)),
    "linear_cross_entropy": _Operator(
        "Tensor x, Tensor weight, Tensor target, float smoothing, float z, SymInt ignored, SymInt? chunk",
        lambda x, *_: (_once(x), _once(x)), "loss lse", "x weight target lse smoothing z ignored chunk", _WEIGHT,
        options=("smoothing", "z", "ignored", "chunk"), works_in="forward backward"),
    "kl_divergence": _Operator(
        "Tensor x, Tensor teacher", lambda x, _: (_once(x), _once(x), _once(x)), "loss lse teacher_lse",
        "x teacher lse teacher_lse", (("x", "x"),)),
    "entropy": _Operator("Tensor x", lambda x: (_once(x), _once(x)), "entropy lse", "x entropy lse", (("x", "x"),)),
    "swiglu": _GATE,
    "geglu": _GATE,
    "geglu_tanh": _GATE,
    "rms_norm_swiglu": _Operator(
        "Tensor x, Tensor gate, Tensor weight, float epsilon", lambda x, *_: (_like(x), _once(x)), "y scale",
        "x gate weight scale", (("x", "x"), ("gate", "gate"), ("weight", "weight")), works_in="backward"),
    "rotary_halves": _ROTARY,
    "rotary_pairs": _ROTARY,
    "dropout": _Operator("Tensor x, float p, SymInt seed", lambda x, *_: (_like(x),), "y", "p seed", (("x", "d0"),)),
}


def _types(arguments: str) -> Dict[str, str]:
    """The type of each argument, in order."""
    return {name: kind for kind, name in (item.split() for item in arguments.split(", "))}


def _facts(x: Any) -> Any:
    """What a plan of the language may depend on."""
    return (x.shape, x.stride(), x.dtype, x.device, x.data_ptr() % 16) if hasattr(x, "data_ptr") else x


def _run(name: str, names: Tuple[str, ...], options: Tuple[str, ...], works: bool) -> Callable[..., None]:
    """run(made, *args) of an operator of the language: see torch_define.define.

    Memory that it needs beside its results is PyTorch's, so that a CUDA graph that it captures keeps it.
    """
    function, sizes = getattr(rows, name), {}

    def run(made: Tuple[Any, ...], *args: Any) -> None:
        by_name = {n: x for n, x in zip(names, args) if n in options and x is not None}
        by_place = tuple(x for n, x in zip(names, args) if n not in options)
        if works:
            key = tuple(_facts(x) for x in (*by_place, *made, *by_name.items()))
            if key not in sizes:
                sizes[key] = function.work(*by_place, out=list(made), **by_name)
            by_name["work"] = made[0].new_empty(sizes[key], dtype=_float32())
        function(*by_place, out=list(made), **by_name)

    return run


def _define_gradient(name: str, o: _Operator, types: Dict[str, str]) -> Any:
    """The operator cuttle::NAME_backward: the gradients d0, d1, and what is kept."""
    names = (*(f"d{i}" for i in range(o.n_gradients)), *o.keeps.split())
    arguments = ", ".join(f"{types.get(n, 'Tensor')} {n}" for n in names)

    def outputs(*args: Any) -> Tuple[Any, ...]:
        given = dict(zip(names, args))
        return tuple(_like(given[like]) for _, like in o.gives)

    return define(f"{name}_backward", arguments, outputs, len(o.gives),
                  _run(f"{name}_backward", names, o.options, "backward" in o.works_in))


def _define(name: str, o: _Operator) -> Any:
    """The operator cuttle::NAME, with its gradient."""
    types, results = _types(o.arguments), o.results.split()
    op = define(name, o.arguments, o.outputs, len(results),
                _run(name, tuple(types), o.options, "forward" in o.works_in))
    gradient, keeps = _define_gradient(name, o, types), o.keeps.split()
    are_tensors = [types.get(n, "Tensor") == "Tensor" for n in keeps]

    def save(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        known = dict(zip(types, inputs)) | dict(zip(results, output if len(results) > 1 else (output,)))
        ctx.save_for_backward(*(known[n] for n, is_tensor in zip(keeps, are_tensors) if is_tensor))
        ctx.set_materialize_grads(False)
        ctx.numbers = [known[n] for n, is_tensor in zip(keeps, are_tensors) if not is_tensor]

    def backward(ctx: Any, *grads: Any) -> Tuple[Any, ...]:
        tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
        kept = [next(tensors if is_tensor else numbers) for is_tensor in are_tensors]
        # Of two results that are used, the gradient of one may be missing: that of a sum, kept[0].
        made = gradient(*(kept[0].new_zeros(kept[0].shape) if d is None else d.contiguous()
                          for d in grads[:o.n_gradients]), *kept)
        of = {n: x for (names, _), x in zip(o.gives, made if len(o.gives) > 1 else (made,)) for n in names.split()}
        return tuple(of.get(n) for n in types)

    op.register_autograd(backward, setup_context=save)
    return op


_ops = {name: _define(name, o) for name, o in _OPERATORS.items()}


def _define_both_passes() -> Any:
    """The operator cuttle::linear_cross_entropy_gradients: the sum of scale * loss, and its gradients."""

    def outputs(scale: Any, x: Any, weight: Any, *_: Any) -> Tuple[Any, ...]:
        return scale.new_empty(()), _like(x), _like(weight)

    gradients = _run("linear_cross_entropy_gradients",
                     ("scale", "x", "weight", "target", "smoothing", "z", "ignored"), ("smoothing", "z", "ignored"),
                     works=True)

    def run(made: Tuple[Any, ...], scale: Any, *args: Any) -> None:
        loss, lse = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        gradients((loss, lse, *made[1:]), scale, *args)
        made[0].copy_((loss * scale).sum())

    def save(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*output[1:])
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, d: Any, *_: Any) -> Tuple[Any, ...]:
        return (None, *(None if d is None else d * g for g in ctx.saved_tensors), None, None, None, None)

    op = define("linear_cross_entropy_gradients", "Tensor scale, Tensor x, Tensor weight, Tensor target, "
                "float smoothing, float z, SymInt ignored", outputs, 3, run)
    op.register_autograd(backward, setup_context=save)
    return op


_both_passes = _define_both_passes()


def rms_norm(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    """x / rms(x) * weight; x is (..., N), weight (N,)."""
    return _ops["rms_norm"](x, weight, eps)[0]


def add_rms_norm(x: Any, residual: Any, weight: Any, eps: float = 1e-6) -> Tuple[Any, Any]:
    """(rms_norm of the sum, the sum x + residual); x and residual are (..., N), weight (N,)."""
    expect_same("add_rms_norm", x=x, residual=residual)
    return _ops["add_rms_norm"](x, residual, weight, eps)[:2]


def layer_norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    """(x - mean) / standard deviation * weight + bias; x is (..., N), weight and bias are (N,)."""
    return _ops["layer_norm"](x, weight, bias, eps)[0]


def add_layer_norm(x: Any, residual: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Tuple[Any, Any]:
    """(layer_norm of the sum, the sum x + residual); x and residual are (..., N), weight and bias (N,)."""
    expect_same("add_layer_norm", x=x, residual=residual)
    return _ops["add_layer_norm"](x, residual, weight, bias, eps)[:2]


def group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    """The norm of each group of channels; x is (N, C, ...), weight and bias are (C,), and `groups` divides C."""
    return _ops["group_norm"](x.contiguous(), groups, weight, bias, eps)[0]


def softmax(x: Any) -> Any:
    """exp(x) / sum of exp(x), over the last dimension."""
    return _ops["softmax"](x)


def log_softmax(x: Any) -> Any:
    """x - log of the sum of exp(x), over the last dimension."""
    return _ops["log_softmax"](x)


def cross_entropy(x: Any, target: Any, *, ignore_index: int = -100, label_smoothing: float = 0.0,
                  reduction: str = "mean") -> Any:
    """The loss of logits x (..., N) and targets (...), integers, as torch.nn.functional.cross_entropy has it.

    Rows whose target is `ignore_index` count nothing. `reduction`: "mean", "sum" or "none".
    """
    name, smoothing = ("smooth_cross_entropy", (label_smoothing,)) if label_smoothing else ("cross_entropy", ())
    if reduction == "mean":
        mean = _ops[name + "_mean"](x.reshape(-1, x.shape[-1]), target.reshape(-1, 1), *smoothing, ignore_index)[0]
        return mean.reshape(())
    loss = _ops[name](x, target.unsqueeze(-1), *smoothing, ignore_index)[0]
    return _reduced("cross_entropy", loss.squeeze(-1), target, ignore_index, reduction)


def linear_cross_entropy(x: Any, weight: Any, target: Any, *, ignore_index: int = -100, label_smoothing: float = 0.0,
                         z_loss: float = 0.0, chunk: Optional[int] = None, reduction: str = "mean") -> Any:
    """cross_entropy(x @ weight.T, target), without all logits in memory; x is (..., K), weight (N, K), target (...).

    `z_loss` adds that factor times the square of the logarithm of the sum of exp. `chunk`: how many columns of logits
    are in memory at once. Without it, a loss "mean" or "sum" of what needs gradients makes them in the forward pass,
    from logits of some rows at a time: three products in place of four. Such gradients have no gradients.
    """
    import torch

    flat, rows_of = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    needs_gradients = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    if needs_gradients and chunk is None and reduction in ("mean", "sum"):
        scale = (rows_of != ignore_index).float().unsqueeze(-1)
        scale = scale / scale.sum() if reduction == "mean" else scale
        return _both_passes(scale, flat, weight, rows_of.unsqueeze(-1), label_smoothing, z_loss, ignore_index)[0]
    loss = _ops["linear_cross_entropy"](flat, weight, rows_of.unsqueeze(-1), label_smoothing, z_loss, ignore_index,
                                        chunk)[0]
    return _reduced("linear_cross_entropy", loss.squeeze(-1).reshape(target.shape), target, ignore_index, reduction)


def swiglu(gate: Any, up: Any) -> Any:
    """gate * sigmoid(gate) * up, of tensors of the same shape."""
    expect_same("swiglu", gate=gate, up=up)
    return _ops["swiglu"](gate, up)


def geglu(gate: Any, up: Any, approximate: str = "none") -> Any:
    """gelu(gate) * up, of tensors of the same shape. `approximate`: "none", or "tanh" as of PyTorch's gelu."""
    expect_same("geglu", gate=gate, up=up)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"geglu: approximate is {approximate!r}; 'none' or 'tanh' was expected")
    return _ops["geglu" if approximate == "none" else "geglu_tanh"](gate, up)


def rms_norm_swiglu(x: Any, gate: Any, weight: Any, eps: float = 1e-6) -> Any:
    """rms_norm(x, weight) * gate * sigmoid(gate); x and gate are (..., N), weight (N,)."""
    expect_same("rms_norm_swiglu", x=x, gate=gate)
    return _ops["rms_norm_swiglu"](x, gate, weight, eps)[0]


def kl_divergence(x: Any, teacher: Any) -> Any:
    """The sum of p (log p - log q) of each row of logits, p the softmax of `teacher` and q that of x; (...), float32.

    The teacher has no gradient.
    """
    expect_same("kl_divergence", x=x, teacher=teacher)
    return _ops["kl_divergence"](x, teacher)[0].squeeze(-1)


def entropy(x: Any) -> Any:
    """The entropy of softmax(x) in nats, over the last dimension; (...), float32."""
    return _ops["entropy"](x)[0].squeeze(-1)


def rotary_halves(x: Any, cos: Any, sin: Any, position: Any) -> Any:
    """Rotary embedding: column i of x (..., D) turns with column i + n, n the columns of cos and sin (positions, n).

    `position` (..., 1), integers, is that of each row; it is broadcast. cos and sin have no gradient.
    """
    return _ops["rotary_halves"](x, cos, sin, position)


def rotary_pairs(x: Any, cos: Any, sin: Any, position: Any) -> Any:
    """The same where columns 2 i and 2 i + 1 turn."""
    return _ops["rotary_pairs"](x, cos, sin, position)


def dropout(x: Any, p: float, seed: int) -> Any:
    """x with a share p of its elements 0, and the others divided by 1 - p. The same seed drops the same elements."""
    return _ops["dropout"](x, p, seed)


def expect_same(name: str, **tensors: Any) -> None:
    """Raises ValueError unless both tensors have the same shape."""
    (a, x), (b, y) = tensors.items()
    if x.shape != y.shape:
        raise ValueError(f"{name}: {a} has shape {tuple(x.shape)} and {b} {tuple(y.shape)}; the same was expected")


def _reduced(name: str, loss: Any, target: Any, ignored: int, reduction: str) -> Any:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction != "mean":
        raise ValueError(f"{name}: reduction is {reduction!r}; 'mean', 'sum' or 'none' was expected")
    return loss.sum() / (target != ignored).sum()
