-- matmul_scales.lua: matmul's options scale_a and scale_b, checked: f32 factors of A and of B. A
-- scale's shape says for what part of the operand each number is: docs/matmul.md#scales.
local arguments = require "cuttle.arguments"
local scales = require "cuttle.gemm_scales"
local tiles = require "cuttle.tiles"
local M = {}

local BLOCK <const> = scales.BLOCK
local NARROW <const> = { f8e4m3 = true, f8e5m2 = true }

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- What the extents of a scale say of an operand (rows,K), in l batches or groups: {rows =, deep =};
-- nil: nothing.
local function kind_of(extent, rows, k, l)
  local n, deep, batches = extent[1], extent[2] or 1, extent[3] or 1
  local kind = n == 1 and "one" or n == rows and "each" or n == cdiv(rows, BLOCK) and "block"
  local is_whole = deep == 1
  if kind and (is_whole or deep == cdiv(k, BLOCK)) and (batches == 1 or batches == l) then
    return { rows = kind, deep = not is_whole }
  end
end

local function check_tensor(x, name, device)
  if tiles.type_name(x) ~= "tensor" or x.dtype ~= f32 then
    local is_tensor = tiles.type_name(x) == "tensor"
    fail("%s is of type %s; expected a number or a tensor of f32", name,
      is_tensor and tostring(x.dtype) or tiles.type_name(x))
  elseif x.device ~= device then
    fail("%s is on %s but C is on %s; expected all on one device", name, x.device, device)
  end
end

-- One scale as (rows, blocks of K, batches), of operand t in l batches or groups.
local function read(x, name, t, l, device)
  if x == nil then x = 1.0 end
  if type(x) == "number" then return { rows = "number", deep = false, tensor = f32(x) } end
  check_tensor(x, name, device)
  local rows, k = t.extent[1], t.extent[2]
  local s = arguments.describe("matmul", x, name)
  local of = rank(x) <= 3 and kind_of(s.extent, rows, k, l)
  if not of then
    local deep = cdiv(k, BLOCK)
    fail("%s is %s; expected (1), (%d), (%d,%d) or (%d,%d), perhaps with a third mode of %d: a "
      .. "number for all of %s, for each row, for %d of a row, or for %dx%d", name, shape(x), rows,
      rows, deep, cdiv(rows, BLOCK), deep, l, t.name, BLOCK, BLOCK, BLOCK)
  end
  local batches = s.extent[3] or 1
  of.tensor = view(x, layout({ s.extent[1], s.extent[2] or 1, l },
    { s.stride[1], s.stride[2] or 0, batches > 1 and s.stride[3] or 0 }))
  return of
end

local grouped <const> = { m = "A", n = "B" } -- whose rows are in groups, by their mode

-- Tiles of a group begin at its first row, and a block of 128x128 may end inside of one.
local function check_groups(read_scales, groups)
  if groups.mode == "k" then
    fail("there are groups of K, which begin inside of blocks of %d; scale by rows", BLOCK)
  end
  local name = grouped[groups.mode]
  local of = read_scales[name]
  if of.rows == "block" and of.deep then
    fail("scale_%s is of blocks of %dx%d, but groups of rows of %s may begin inside of one; scale "
      .. "%d elements of a row", name:lower(), BLOCK, BLOCK, name, BLOCK)
  end
end

local function check_deep(options, p, read_scales)
  local dtype = p.a.tensor.dtype
  if not NARROW[dtype.name] then
    fail("a scale is of blocks of %d of K, which f8e4m3 and f8e5m2 have, and A is %s; scale by "
      .. "rows", BLOCK, dtype)
  elseif options.bits ~= nil then
    fail("a scale is of blocks of K, whose sums are added apart; no order of bits has them")
  end
  if p.groups then check_groups(read_scales, p.groups) end
end

--- The scales of a product of described operands {a =, b =, c =, groups =}: {A = {rows =, deep =,
--- tensor =}, B = ...}; nil: there are none.
function M.read(options, p)
  if options.scale_a == nil and options.scale_b == nil then return nil end
  local out, device = p.c.tensor.dtype, p.c.tensor.device
  if not out.is_float then
    fail("C is %s, but scales are f32; expected a C of a float type", out)
  end
  local l = p.groups and p.groups.n or p.c.extent[3]
  local read_scales = { A = read(options.scale_a, "scale_a", p.a, l, device),
                        B = read(options.scale_b, "scale_b", p.b, l, device) }
  if scales.is_deep{ scales = read_scales } then check_deep(options, p, read_scales) end
  return read_scales
end

--- The same where A and B change places.
function M.swapped(read_scales)
  return read_scales and { A = read_scales.B, B = read_scales.A }
end

--- What distinguishes kernels, and what a variant knows.
function M.text(read_scales)
  local words = {}
  for _, name in ipairs { "A", "B" } do
    local of = read_scales[name]
    words[#words + 1] = of.rows .. (of.deep and " deep" or "")
  end
  return table.concat(words, ",")
end

function M.kinds(read_scales)
  if not read_scales then return nil end
  local kinds = {}
  for name, of in pairs(read_scales) do kinds[name] = { rows = of.rows, deep = of.deep } end
  return kinds
end

return M
