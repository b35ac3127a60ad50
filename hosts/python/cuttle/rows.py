"""Operators of rows, for tensors of any library: cuttle.rows.rms_norm(x, weight, 1e-6).

Each is the operator of the same name of the language's module cuttle.rows, with the same arguments; numbers are
numbers. Results are tensors of the first tensor's library. `out`, a tensor or a list, takes their place.
"""

from __future__ import annotations

from typing import Any, Callable, List

from .default import state
from .operators import _as_library

_CALL = """local rows = require "cuttle.rows"
function _rows_names()
  local names = {}
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, " ")
end
function _rows_call(name, ...) return rows[name](...) end"""


def _call(function: str, *args: Any, **options: Any) -> Any:
    if not state().has_function("_rows_call"):
        state().run(_CALL, "=rows")
    return state().call(function, args, options or None)


def _result(like: Any, made: Any) -> Any:
    """As the library of `like` has it. NumPy takes memory of others to read only, and could not give it back."""
    out = _as_library(like, made)
    flags = getattr(out, "flags", None)
    return out.copy() if flags is not None and not getattr(flags, "writeable", True) else out


def __dir__() -> List[str]:
    return _call("_rows_names")[0].split()


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"cuttle.rows has no operator {name!r}; it has {', '.join(__dir__())}"
                             if not name.startswith("_") else name)

    def operator(*args: Any, out: Any = None) -> Any:
        like = next((x for x in args if hasattr(x, "shape")), None)
        given = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
        results = _call("_rows_call", name, *args, **({} if given is None else {"out": given}))
        made = given if given is not None else [_result(like, x) for x in results]
        return made[0] if len(made) == 1 else tuple(made)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"The operator {name} of the language's module cuttle.rows; arguments go by place, not by name."
    return operator
