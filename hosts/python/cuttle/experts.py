"""The layer of a mixture of experts, for tensors of any library: see expert_layer in the language's docs/matmul.md.

    routing = cuttle.experts.route(logits, k)               # logits (T, E)
    y = cuttle.experts.expert_layer(x, gate_up, down, routing)
    dx, dgate_up, ddown, dweights = cuttle.experts.expert_layer_backward(dy, x, gate_up, down, routing)
    dlogits = cuttle.experts.route_backward(dweights, logits, routing)

x is (T, D), gate_up (E, 2F, D) with the rows gate 0, up 0, gate 1, ..., and down (E, D, F). For expert_layer each of
these two may be a cuttle.packed.PackedWeight.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Tuple

from .default import state
from .library import _result
from .operators import check_tensors
from .packed import fields

__all__ = ["Routing", "expert_layer", "expert_layer_backward", "route", "route_backward"]

_CALL = """function _experts_route(logits, k, options)
  local r = require "cuttle.expert_layer".route(logits, k, options)
  return r.tokens, r.places, r.ends, r.weights
end
local function routing(k, tokens, places, ends, weights)
  return {k = k, tokens = tokens, places = places, ends = ends, weights = weights}
end
local function inner(t)
  if type(t) == "table" then return require "cuttle.packed_weights".weight_of(t) end
  return t and select(t, 1, 2, 0)
end
function _experts_layer(x, gate_up, down, k, tokens, places, ends, weights, options)
  for i, bias in ipairs(options and options.bias or {}) do options.bias[i] = select(bias, 1, 0) end
  return require "cuttle.expert_layer".expert_layer(x, inner(gate_up), inner(down),
    routing(k, tokens, places, ends, weights), options)
end
function _experts_backward(dy, x, gate_up, down, k, tokens, places, ends, weights, dx, dgate_up, ddown, dweights,
                           options)
  options.out = {tokens = dx, gate_up = inner(dgate_up), down = inner(ddown), weights = dweights}
  local dX, dG, dD, dw = require "cuttle.expert_layer".expert_layer_backward(dy, x, inner(gate_up), inner(down),
    routing(k, tokens, places, ends, weights), options)
  return dX, select(dG, 2, 0, 1), select(dD, 2, 0, 1), dw
end
function _experts_route_backward(dweights, logits, k, tokens, places, ends, weights, options)
  return require "cuttle.expert_layer".route_backward(dweights, logits, routing(k, tokens, places, ends, weights),
    options)
end"""


class Routing(NamedTuple):
    """What route returns: the number of choices, and the pairs of token and choice in the order of their experts."""
    k: int
    tokens: Any
    places: Any
    ends: Any
    weights: Any


def _check(name: str, x: Any, gate_up: Any, down: Any) -> None:
    """Shapes as Python has them, where the language's order differs."""
    check_tensors(name, x=x, gate_up=gate_up, down=down)
    tokens, wide, narrow = (tuple(t.shape) for t in (x, gate_up, down))
    wanted = len(tokens) == 2 and len(narrow) == 3 and narrow[1] == tokens[1]
    if not wanted or wide != (narrow[0], 2 * narrow[2], tokens[1]):
        raise ValueError(f"{name}: x has shape {tokens}, gate_up {wide} and down {narrow}; "
                         "(T, D), (E, 2F, D) and (E, D, F) were expected")


def _call(function: str, *args: Any, **options: Any) -> Any:
    if not state().has_function(function):
        state().run(_CALL, "=cuttle/experts.lua")
    return state().call(function, args, {key: value for key, value in options.items() if value is not None})


def route(logits: Any, k: int, *, normalize: Optional[bool] = None, score: Optional[str] = None,
          correction_bias: Any = None, groups: Optional[Sequence[int]] = None, scale: Optional[float] = None,
          out: Optional[Sequence[Any]] = None) -> Routing:
    """The k experts of each token, with weights that are the softmax of the chosen logits; `normalize=False`: of all
    logits. `score="sigmoid"` takes the logistic function. `correction_bias` (E) is added to scores for the choice only,
    `groups=(n, m)` chooses from m of n groups of experts, and `scale` multiplies weights. `out`: tokens, places, ends
    and weights."""
    made = _call("_experts_route", logits, k, normalize=normalize, score=score, correction_bias=correction_bias,
                 groups=None if groups is None else list(groups), scale=scale, out=None if out is None else list(out))
    return Routing(k, *(out or (_result(logits, t) for t in made)))


def expert_layer(x: Any, gate_up: Any, down: Any, routing: Routing, *, activation: Optional[str] = None,
                 bias: Optional[Sequence[Any]] = None, combine: Optional[str] = None, quantize: Optional[str] = None,
                 kept: Any = None, out: Any = None) -> Any:
    """The layer, (T, D). `combine`: "sum", in a fixed order, or "atomic", which adds to `out`, of float32. `bias`: of
    gate_up (E, 2F) and of down (E, D). `activation`: "swiglu" or "clamped_swiglu", that of gpt-oss. `quantize`:
    "fp8_rows" or "int8_rows", what packed weights are multiplied by. `kept`: (T k, 2F) of x's type, is filled with what
    expert_layer_backward would compute again."""
    _check("expert_layer", x, gate_up, down)
    made = _call("_experts_layer", x, fields(gate_up), fields(down), *routing, activation=activation,
                 bias=None if bias is None else list(bias), combine=combine, quantize=quantize, kept=kept, out=out)
    return out if out is not None else _result(x, made[0])


def expert_layer_backward(dy: Any, x: Any, gate_up: Any, down: Any, routing: Routing, *, kept: Any = None,
                          out: Optional[Sequence[Any]] = None) -> Tuple[Any, ...]:
    """The gradients of x, gate_up, down and routing.weights, by the gradient of the layer's result. `kept`: what the
    layer filled. `out`: these four; those of gate_up and down may be float32."""
    _check("expert_layer_backward", x, gate_up, down)
    made = _call("_experts_backward", dy, x, gate_up, down, *routing, *(out or (None,) * 4), kept=kept)
    return tuple(out or (_result(x, t) for t in made))


def route_backward(dweights: Any, logits: Any, routing: Routing, *, normalize: Optional[bool] = None,
                   score: Optional[str] = None, scale: Optional[float] = None, out: Any = None) -> Any:
    """The gradient of the logits (T, E), by that of routing.weights. The options are those that route had."""
    made = _call("_experts_route_backward", dweights, logits, *routing, normalize=normalize, score=score, scale=scale,
                 out=out)
    return out if out is not None else _result(logits, made[0])
