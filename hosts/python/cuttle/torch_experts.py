"""The layer of a mixture of experts with gradients, for PyTorch: operators that torch.compile takes into its graphs."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

from . import experts
from .packed import PackedWeight
from .torch_define import define

_ROUTING = "Tensor tokens, Tensor places, Tensor ends, Tensor weights, SymInt k"
_PACKED = "str {0}_type, SymInt[] {0}_shape, Tensor {0}_codes, Tensor {0}_scales, Tensor? {0}_zeros, " \
    "int {0}_most_zero, int {0}_spread"
_FIELDS = len(PackedWeight._fields)


def _routing(tokens: Any, places: Any, ends: Any, weights: Any, k: int) -> experts.Routing:
    return experts.Routing(k, tokens, places, ends, weights)


def _routed(logits: Any, k: int, *_: Any) -> Tuple[Any, ...]:
    import torch

    n = logits.shape[0] * k
    made = (logits.new_empty(shape, dtype=torch.int32) for shape in (n, n, logits.shape[1]))
    return (*made, logits.new_empty(n, dtype=torch.float32))


def _packed(name: str, shape: Any, *rest: Any) -> PackedWeight:
    return PackedWeight(name, tuple(shape), *rest)


def _like(*tensors: Any) -> Tuple[Any, ...]:
    return tuple(t.new_empty(t.shape) for t in tensors)


_route = define(
    "route",
    "Tensor logits, SymInt k, Tensor? correction_bias, int[]? groups, bool? normalize, str? score, float? scale",
    _routed, 4,
    lambda made, logits, k, correction_bias, groups, normalize, score, scale: experts.route(
        logits, k, correction_bias=correction_bias, groups=groups, normalize=normalize, score=score, scale=scale,
        out=made))
_route_gradient = define(
    "route_backward", f"Tensor dweights, Tensor logits, {_ROUTING}, bool? normalize, str? score, float? scale",
    lambda dweights, logits, *_: _like(logits), 1,
    lambda made, dweights, logits, tokens, places, ends, weights, k, normalize, score, scale: experts.route_backward(
        dweights, logits, _routing(tokens, places, ends, weights, k), normalize=normalize, score=score, scale=scale,
        out=made[0]))
_layer = define("expert_layer", f"Tensor x, Tensor gate_up, Tensor down, {_ROUTING}", lambda x, *_: _like(x), 1,
                lambda made, x, gate_up, down, *routing: experts.expert_layer(x, gate_up, down, _routing(*routing),
                                                                              out=made[0]))
_kept_layer = define(
    "expert_layer_kept", f"Tensor x, Tensor gate_up, Tensor down, {_ROUTING}",
    lambda x, gate_up, down, tokens, *_: (*_like(x), x.new_empty(tokens.shape[0], gate_up.shape[1])), 2,
    lambda made, x, gate_up, down, *routing: experts.expert_layer(x, gate_up, down, _routing(*routing), out=made[0],
                                                                  kept=made[1]))
_packed_layer = define(
    "expert_layer_packed",
    f"Tensor x, Tensor[]? bias, str? activation, str? quantize, {_PACKED.format('up')}, {_PACKED.format('down')}, {_ROUTING}",
    lambda x, *_: _like(x), 1,
    lambda made, x, bias, activation, quantize, *rest: experts.expert_layer(
        x, _packed(*rest[:_FIELDS]), _packed(*rest[_FIELDS:2 * _FIELDS]), _routing(*rest[2 * _FIELDS:]), bias=bias,
        activation=activation, quantize=quantize, out=made[0]))
_layer_gradient = define(
    "expert_layer_backward", f"Tensor dy, Tensor? kept, Tensor x, Tensor gate_up, Tensor down, {_ROUTING}",
    lambda dy, kept, x, gate_up, down, tokens, places, ends, weights, k: _like(x, gate_up, down, weights), 4,
    lambda made, dy, kept, x, gate_up, down, *routing: experts.expert_layer_backward(
        dy, x, gate_up, down, _routing(*routing), kept=kept, out=made))


def _save(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    *tensors, ctx.k = inputs
    kept = output[1] if isinstance(output, tuple) else None
    if kept is not None:
        ctx.mark_non_differentiable(kept)
    ctx.save_for_backward(kept, *tensors)


def _gradients(ctx: Any, dy: Any, *_: Any) -> Tuple[Any, ...]:
    dx, dgate_up, ddown, dweights = _layer_gradient(dy.contiguous(), *ctx.saved_tensors, ctx.k)
    return dx, dgate_up, ddown, None, None, None, dweights, None


def _save_route(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    logits, ctx.k, _, _, *ctx.how = inputs
    ctx.mark_non_differentiable(*output[:3])
    ctx.save_for_backward(logits, *output)


def _route_gradients(ctx: Any, *grads: Any) -> Tuple[Any, ...]:
    logits, *routing = ctx.saved_tensors
    return _route_gradient(grads[3].contiguous(), logits, *routing, ctx.k, *ctx.how), *(None,) * 6


_layer.register_autograd(_gradients, setup_context=_save)
_kept_layer.register_autograd(_gradients, setup_context=_save)
_route.register_autograd(_route_gradients, setup_context=_save_route)


def expert_layer(x: Any, gate_up: Any, down: Any, logits: Any, k: int, *, normalize: Optional[bool] = None,
                 score: Optional[str] = None, correction_bias: Any = None, groups: Optional[Sequence[int]] = None,
                 scale: Optional[float] = None, bias: Optional[Sequence[Any]] = None,
                 activation: Optional[str] = None, quantize: Optional[str] = None, recompute: bool = False) -> Any:
    """The feed-forward layer of a mixture of experts, of x's shape, with gradients of x, gate_up, down and logits.

    x is (..., D), gate_up (E, 2F, D) with the rows gate 0, up 0, gate 1, ..., down (E, D, F), logits (..., E). A token
    has the k experts of its largest logits; cuttle.experts.route has the options. The activation is SwiGLU. For the
    gradients, gates and ups of all pairs (T k, 2F) are kept; with `recompute` they are computed again.
    gate_up and down may both be a cuttle.packed.PackedWeight; then nothing has a gradient. Only with these there are
    bias, activation and quantize, which cuttle.experts.expert_layer describes.
    """
    import torch

    shape, x = x.shape, x.reshape(-1, x.shape[-1]).contiguous()
    routing = _route(logits.reshape(-1, logits.shape[-1]).contiguous(), k, correction_bias, None if groups is None else list(groups), normalize,
                     score, scale)
    if isinstance(gate_up, PackedWeight) or isinstance(down, PackedWeight):
        if not (isinstance(gate_up, PackedWeight) and isinstance(down, PackedWeight)):
            raise TypeError("expert_layer: one of gate_up and down is packed; pass both as cuttle.packed.PackedWeight")
        return _packed_layer(x, None if bias is None else list(bias), activation, quantize, *gate_up, *down, *routing,
                             k).reshape(shape)
    if bias is not None or activation is not None or quantize is not None:
        raise TypeError("expert_layer: bias, activation and quantize are for packed weights; those have no gradients. "
                        "For others call cuttle.experts.expert_layer")
    needs_gradients = torch.is_grad_enabled() and any([t.requires_grad for t in (x, gate_up, down, logits)])
    keeps = needs_gradients and not recompute
    y = _kept_layer(x, gate_up, down, *routing, k)[0] if keeps else _layer(x, gate_up, down, *routing, k)
    return y.reshape(shape)
