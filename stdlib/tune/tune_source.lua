-- tune_source.lua: the hash of what is tuned: of the function's text, and of what it uses: local
-- and global functions and kernels of the script, and numbers, strings and booleans that it
-- captured. So results of an older text are not taken for results of the new one.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local function lines_of(text, first, last)
  local lines, at = {}, 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    at = at + 1
    if at >= first and at <= last then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

local texts = {}

local function text_of_file(name)
  if texts[name] == nil then
    local file <close> = io and io.open and io.open(name, "rb")
    texts[name] = file and file:read "a" or ""
  end
  return texts[name]
end

-- The lines of a function of a script; nil: it is the library's.
local function text_of(f)
  local info = debug.getinfo(f, "S")
  if info.what == "C" or info.source:find "^=cuttle/" then return nil end
  local name = info.source:match "^@(.*)"
  local text = internal.host.source(info.short_src) or name and text_of_file(name) or info.source
  return lines_of(text, info.linedefined, info.lastlinedefined)
end

local add -- (parts, value, known): what the value is made of

-- Names that the text uses and that the script has made global.
local function add_globals(parts, text, known)
  for name in text:gmatch "[%a_][%w_]*" do
    local value = rawget(_G, name)
    local kind = tiles.type_name(value)
    if (kind == "function" or kind == "kernel") and not known[value] then
      add(parts, value, known)
    end
  end
end

local function add_captured(parts, f, known)
  for i = 1, math.maxinteger do
    local name, value = debug.getupvalue(f, i)
    if not name then return end
    if name ~= "_ENV" then add(parts, value, known) end
  end
end

local function add_function(parts, f, known)
  local text = text_of(f)
  if not text then return end
  parts[#parts + 1] = text
  add_captured(parts, f, known)
  add_globals(parts, text, known)
end

local plain <const> = { number = true, string = true, boolean = true }

function add(parts, value, known)
  if plain[type(value)] then
    parts[#parts + 1] = tostring(value)
    return
  end
  local kind = tiles.type_name(value)
  if kind == "kernel" then value = debug.getuservalue(value, 1) end
  if type(value) ~= "function" or known[value] then return end
  known[value] = true
  add_function(parts, value, known)
end

--- 16 hexadecimal digits.
function M.hash(f)
  if not debug then return ("0"):rep(16) end -- a sandbox: its results are in no file
  local parts = {}
  add(parts, f, {})
  return internal.host.hash(table.concat(parts, "\0"))
end

--- Where the function begins: "stencil.lua:12".
function M.place(f)
  local info = debug and debug.getinfo(f, "S")
  if not info then return "a function" end
  return ("%s:%d"):format(info.short_src:match "[^/]*$", info.linedefined)
end

return M
