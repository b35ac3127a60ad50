"""The operators of a module of the language, as functions of a Python module: see rows.py and selections.py."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Tuple

from .default import state
from .operators import _as_library

_CALL = """function _library_names(module)
  local names = {}
  for name in pairs(require("cuttle." .. module)) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, " ")
end
-- Results whose types DLPack does not have: two elements of f4e2m1 are a byte.
local others = {f4e2m1 = u8, f8ue4m3 = f8e4m3}
local function known(t, ...)
  if t == nil and select("#", ...) == 0 then return end
  local to = require "cuttle.type_name"(t) == "tensor" and others[t.dtype.name]
  return to and recast(t, to) or t, known(...)
end
function _library_call(module, name, ...) return known(require("cuttle." .. module)[name](...)) end
function _library_work(module, name, ...) return require("cuttle." .. module)[name]:work(...) end"""


def _call(function: str, *args: Any, **options: Any) -> Any:
    if not state().has_function("_library_call"):
        state().run(_CALL, "=cuttle/library.lua")
    return state().call(function, args, options or None)


def _result(like: Any, made: Any) -> Any:
    """As the library of `like` has it. NumPy takes memory of others to read only, and could not give it back."""
    out = _as_library(like, made)
    flags = getattr(out, "flags", None)
    return out.copy() if flags is not None and not getattr(flags, "writeable", True) else out


def operators_of(module: str) -> Tuple[Callable[[], List[str]], Callable[[str], Callable[..., Any]]]:
    """__dir__ and __getattr__ of the Python module that has the operators of the language's module cuttle.MODULE."""
    @functools.lru_cache(maxsize=None)
    def names() -> List[str]:
        return _call("_library_names", module)[0].split()

    def get(name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in names():
            raise AttributeError(f"cuttle.{module} has no operator {name!r}; it has {', '.join(names())}"
                                 if not name.startswith("_") else name)

        def operator(*args: Any, out: Any = None, **options: Any) -> Any:
            like = next((x for x in args if hasattr(x, "shape")), None)
            given = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
            if given is not None:
                options["out"] = given
            made = _call("_library_call", module, name, *args, **options)
            results = [given[i] if given is not None and i < len(given) else _result(like, x)
                       for i, x in enumerate(made)]
            return results[0] if len(results) == 1 else tuple(results)

        def work(*args: Any, **options: Any) -> int:
            """How many float32 the option `work` of such a call has to have; of kernels of rows."""
            return int(_call("_library_work", module, name, *args, **options)[0])

        setattr(operator, "work", work)
        operator.__name__ = operator.__qualname__ = name
        operator.__doc__ = (f"The operator {name} of the language's module cuttle.{module}; arguments go by place, "
                            "options by name.")
        return operator

    return names, get
