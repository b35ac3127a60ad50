"""%%cuttle: a cell of Lua in a notebook. Its globals stay for later cells; what the last line gives is shown,
layouts, atoms and prepared launches as pictures; `show(x)` shows a picture, too.

    %load_ext cuttle
    %%cuttle
    logical_divide("(8,8):(8,1)", "(2,4)")
"""

from __future__ import annotations

from typing import Any, Optional

from ._cuttle import State

_PRELUDE = """
local pictures, drawn = {}, {layout = true, swizzle = true, atom = true, tiled_mma = true, tiled_copy = true}
local print_picture = show
local is_launch = require "cuttle.launch_picture".is_launch

local function keep(x, options)
  pictures[#pictures + 1] = svg(x, nil, options)
end

rawset(_G, "show", function(x, options)
  if options and (options.text or options.width) then return print_picture(x, options) end
  keep(x, options)
end)

function _cell_pictures()
  local taken = pictures
  pictures = {}
  return table.unpack(taken)
end

local function name_of(x)
  local meta = getmetatable(x)
  return type(meta) == "table" and meta.__name or type(x)
end

local function present(x)
  local is_drawn = drawn[name_of(x):gsub(" ", "_")] or type(x) == "function" and is_launch(x)
  local ok = is_drawn and pcall(keep, x)
  if not ok then print(x) end
end

-- The last line's value, where it has one.
local function load_cell(text, name)
  local head, last = text:match "^(.*\\n)([^\\n]+)%s*$"
  if not head then head, last = "", text end
  local fn = load("return " .. last) and load(head .. "return " .. last, name)
  if fn then return fn end
  return load(text, name)
end

function _cell(text, name)
  local fn, message = load_cell(text, name)
  if not fn then error(message, 0) end
  local results = table.pack(fn())
  for i = 1, results.n do present(results[i]) end
end
"""

_state: Optional[State] = None
_cell_number = 0


def _open(device: Optional[str]) -> State:
    global _state
    if _state is None or device is not None:
        _state = State("notebook", device)
        _state.run(_PRELUDE, "=magic")
    return _state


def run_cell(line: str, cell: str) -> list:
    """Runs a cell; returns its pictures, as SVG. `line`: a device, which begins a new interpreter."""
    global _cell_number
    state = _open(line.strip() or None)
    _cell_number += 1
    try:
        state.call("_cell", (cell, f"=cell {_cell_number}"), None)
    finally:
        pictures = state.call("_cell_pictures", (), None)
    return pictures


def cell_magic(line: str, cell: str) -> None:
    from IPython.display import SVG, display

    for picture in run_cell(line, cell):
        display(SVG(picture))


def load_ipython_extension(ipython: Any) -> None:
    ipython.register_magic_function(cell_magic, "cell", "cuttle")
