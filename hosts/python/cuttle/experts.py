"""The layer of a mixture of experts, for tensors of any library: see expert_layer in the language's docs/matmul.md.

    routing = cuttle.experts.route(logits, k)               # logits (T, E)
    y = cuttle.experts.expert_layer(x, gate_up, down, routing)

x is (T, D), gate_up (E, 2F, D) with the rows gate 0, up 0, gate 1, ..., and down (E, D, F).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .default import state
from .library import _result

__all__ = ["Routing", "expert_layer", "route"]

_CALL = """function _experts_route(logits, k, options)
  local r = require "cuttle.expert_layer".route(logits, k, options)
  return r.tokens, r.places, r.ends, r.weights
end
function _experts_layer(x, gate_up, down, k, tokens, places, ends, weights, options)
  local routing = {k = k, tokens = tokens, places = places, ends = ends, weights = weights}
  return require "cuttle.expert_layer".expert_layer(x, select(gate_up, 1, 2, 0), select(down, 1, 2, 0), routing,
    options)
end"""


class Routing(NamedTuple):
    """What route returns: the number of choices, and the pairs of token and choice in the order of their experts."""
    k: int
    tokens: Any
    places: Any
    ends: Any
    weights: Any


def _call(function: str, *args: Any, **options: Any) -> Any:
    if not state().has_function(function):
        state().run(_CALL, "=experts")
    return state().call(function, args, {key: value for key, value in options.items() if value is not None} or None)


def route(logits: Any, k: int, *, normalize: Optional[bool] = None, score: Optional[str] = None) -> Routing:
    """The k experts of each token, with weights that are the softmax of the chosen logits; `normalize=False`: of all
    logits. `score="sigmoid"` takes the logistic function."""
    made = _call("_experts_route", logits, k, normalize=normalize, score=score)
    return Routing(k, *(_result(logits, t) for t in made))


def expert_layer(x: Any, gate_up: Any, down: Any, routing: Routing, *, combine: Optional[str] = None,
                 out: Any = None) -> Any:
    """The layer, (T, D). `combine`: "sum", in a fixed order, or "atomic", which adds to `out`, of float32."""
    made = _call("_experts_layer", x, gate_up, down, *routing, combine=combine, out=out)
    return out if out is not None else _result(x, made[0])
