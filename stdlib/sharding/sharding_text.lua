-- sharding_text.lua: the texts of shardings: "(M@data,K)", "((256,4),64):((1,1@model),256)". It
-- reads them into entries and writes shardings as texts; what they mean is sharding.lua's.
--
--   spec   = modes [":" strides]      modes = "(" entry {"," entry} ")" | entry
--   entry  = "@" axis "+"                              partial sums over the axis
--          | name {"@" axis} ["=" shape] | shape       a mode; `_` has no name
--   shape  = number | "(" shape {"," shape} ")"        strides: the same, of stride
--   stride = number ["@" axis]
local tiles = require "cuttle.tiles"
local M = {}

-- {====== Reading ======

local function fail(p, expected)
  tiles.fail(p.op, "expected %s at column %d of '%s'; a spec is a string such as \"(M@data,K)\"",
    expected, p.at, p.text)
end

local function peek(p)
  p.at = p.text:find("%S", p.at) or #p.text + 1
  return p.text:sub(p.at, p.at)
end

local function accept(p, c)
  if peek(p) ~= c then return false end
  p.at = p.at + 1
  return true
end

local function expect(p, c)
  if not accept(p, c) then fail(p, "'" .. c .. "'") end
end

-- The text that a pattern matches here, nil if none.
local function match(p, pattern)
  peek(p)
  local word = p.text:match("^" .. pattern, p.at)
  p.at = p.at + #(word or "")
  return word
end

local function number(p)
  local n = math.tointeger(tonumber(match(p, "%d+") or fail(p, "a number")))
  return n or fail(p, "a smaller number")
end

-- An axis: its name, or its number among the axes, from 1, as in a printed layout; 0 is memory.
local function axis(p)
  local word = match(p, "[%w_]+") or fail(p, "the name of an axis")
  return math.tointeger(tonumber(word)) or word
end

-- `leaf`, or a table of such in parentheses.
local function tree(p, leaf)
  if not accept(p, "(") then return leaf(p) end
  local list = {}
  repeat list[#list + 1] = tree(p, leaf) until not accept(p, ",")
  expect(p, ")")
  return list
end

local function stride(p)
  local s = { step = number(p) }
  if accept(p, "@") then s.axis = axis(p) end
  return s
end

local function entry(p)
  if accept(p, "@") then
    local e = { partial = axis(p) }
    expect(p, "+")
    return e
  end
  local e = { axes = {} }
  local name = match(p, "[%a_][%w_]*")
  if name == nil then
    if not peek(p):find("[%d(]") then fail(p, "a mode, such as M or M@data") end
    e.shape = tree(p, number)
    return e
  end
  e.name = name ~= "_" and name
  while accept(p, "@") do e.axes[#e.axes + 1] = axis(p) end
  if accept(p, "=") then e.shape = tree(p, number) end
  return e
end

local function entries(p)
  if not accept(p, "(") then return { entry(p) } end
  local list = {}
  if accept(p, ")") then return list end
  repeat list[#list + 1] = entry(p) until not accept(p, ",")
  expect(p, ")")
  return list
end

-- Modes and axes of partial sums apart.
local function sort_out(list)
  local modes, partial = {}, {}
  for _, e in ipairs(list) do
    if e.partial then partial[#partial + 1] = e.partial else modes[#modes + 1] = e end
  end
  return modes, partial
end

--- Reads a spec: {modes = {{name =, axes =, shape =}, ...}, partial = {axis, ...}, strides =
--- {tree, ...}}; strides are absent where the text has none.
function M.read(text, op)
  local p = { text = text, at = 1, op = op }
  local bare = peek(p) ~= "("
  local spec = {}
  spec.modes, spec.partial = sort_out(entries(p))
  if accept(p, ":") then
    spec.strides = tree(p, stride)
    if bare or spec.strides.step then spec.strides = { spec.strides } end
  end
  if peek(p) ~= "" then fail(p, "the end") end
  return spec
end

-- {====== Writing ======

local function joined(texts)
  return #texts == 1 and texts[1] or "(" .. table.concat(texts, ",") .. ")"
end

local function partial_texts(s, out)
  for _, name in ipairs(s.mesh.axes) do
    if s.partial[name] then out[#out + 1] = "@" .. name .. "+" end
  end
  return out
end

-- "M@data@model" if the mode is a block of memory and then whole axes, the block as small as the
-- extent allows; nil otherwise.
local function plain_mode(s, i)
  local text, span, block = s.names[i] or "_", 1, 1
  for j, factor in ipairs(s.modes[i]) do
    if factor.axis then
      text, span = text .. "@" .. factor.axis, span * factor.extent
    elseif j == 1 then
      block = factor.extent
    else
      return nil
    end
  end
  return block == (s.shape[i] + span - 1) // span and text or nil
end

local function plain(s, places)
  local texts, last = {}, 0
  for _, at in ipairs(s.order) do
    local place = places and places[at[1]] or at[1]
    if place < last then return nil end
    last = place
  end
  for i = 1, #s.modes do
    texts[i] = plain_mode(s, i)
    if texts[i] == nil then return nil end
  end
  return texts
end

-- The stride of a factor: in memory, or its axis.
local function stride_text(factor, strides)
  if factor.axis then return "1@" .. factor.axis end
  return tostring(strides[factor])
end

local function mode_texts(factors, strides)
  local shape, stride_list = {}, {}
  for j, factor in ipairs(factors) do
    shape[j], stride_list[j] = tostring(factor.extent), stride_text(factor, strides)
  end
  return joined(shape), joined(stride_list)
end

--- The spec of a sharding: without strides if it can do without. `strides` gives the stride of
--- each local factor in memory, `places` the place of each mode that is understood without them;
--- nil: column-major.
function M.write(s, strides, places)
  local shape = plain(s, places)
  if shape then return "(" .. table.concat(partial_texts(s, shape), ",") .. ")" end
  local stride_list = {}
  shape = {}
  for i, factors in ipairs(s.modes) do
    local extents
    extents, stride_list[i] = mode_texts(factors, strides)
    shape[i] = (s.names[i] and s.names[i] .. "=" or "") .. extents
  end
  return ("(%s):(%s)"):format(table.concat(partial_texts(s, shape), ","),
    table.concat(stride_list, ","))
end

return M
