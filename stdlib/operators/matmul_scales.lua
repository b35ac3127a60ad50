-- matmul_scales.lua: matmul's options scale_a and scale_b, checked: factors of A and of B. The type
-- and shape of a scale say for what part of the operand each number is: docs/matmul.md#scales.
local internal = ...
local arguments = require "cuttle.arguments"
local scales = require "cuttle.gemm_scales"
local tiles = require "cuttle.tiles"
local M = {}

local BLOCK <const> = scales.BLOCK
local NARROW <const> = { f8e4m3 = true, f8e5m2 = true }

-- By the type of scales of 8 bits: of how many elements of K each is, and which types these have.
local FORMATS <const> = {
  f8ue8m0 = { block = 32, types = { f8e4m3 = true, f8e5m2 = true, f4e2m1 = true },
              text = "f8e4m3, f8e5m2 or f4e2m1 (MXFP8, MXFP4)" },
  f8ue4m3 = { block = 16, types = { f4e2m1 = true }, text = "f4e2m1 (NVFP4)" },
}

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

-- {====== Scales of 16 or 32 elements ======

local function type_of(x)
  return tiles.type_name(x) == "tensor" and x.dtype.name or tiles.type_name(x)
end

local function check_formats(options, dtype)
  local a, b = type_of(options.scale_a), type_of(options.scale_b)
  if a ~= b then
    fail("scale_a is of type %s and scale_b of type %s; expected scales of one type for both, "
      .. "f8ue8m0 for 32 of K or f8ue4m3 for 16", a, b)
  elseif not FORMATS[a].types[dtype.name] then
    fail("scales of %s are for %s, and A is %s", a, FORMATS[a].text, dtype)
  end
end

-- Are four scales along K always a word of 32 bits?
local function in_words(t)
  local deep, strides = size(t, 1), stride(t)
  return strides[2] == 1 and deep % 4 == 0 and strides[1] % 4 == 0 and strides[3] % 4 == 0
    and internal.launch.address(t) % 4 == 0
end

-- One of them as (rows, blocks of K, batches).
local function read_fine(x, name, t, l, device)
  local block, rows = FORMATS[x.dtype.name].block, t.extent[1]
  local deep = cdiv(t.extent[2], block)
  if x.device ~= device then
    fail("%s is on %s but C is on %s; expected all on one device", name, x.device, device)
  end
  local s = arguments.describe("matmul", x, name)
  local batches = s.extent[3] or 1
  if s.extent[1] ~= rows or s.extent[2] ~= deep or #s.extent > 3
    or batches ~= 1 and batches ~= l then
    fail("%s is %s; expected (%d,%d), perhaps with a third mode of %d: an %s for %d elements of "
      .. "each row of %s", name, shape(x), rows, deep, l, x.dtype, block, t.name)
  end
  local tensor = view(x, layout({ rows, deep, l },
    { s.stride[1], s.stride[2], batches > 1 and s.stride[3] or 0 }))
  return { rows = "each", deep = true, block = block, dtype = x.dtype, wide = in_words(tensor),
           tensor = tensor }
end

-- {====== Checks of both ======

local grouped <const> = { m = "A", n = "B" } -- whose rows are in groups, by their mode

-- Tiles of a group begin at its first row, and a block of 128x128 may end inside of one.
local function check_groups(read_scales, groups)
  if groups.mode == "k" then
    fail("there are groups of K, which begin inside of blocks of %d; scale by rows",
      scales.block_of{ scales = read_scales })
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
  if not scales.is_fine{ scales = read_scales } and not NARROW[dtype.name] then
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
  local read_one = read
  if FORMATS[type_of(options.scale_a)] or FORMATS[type_of(options.scale_b)] then
    check_formats(options, p.a.tensor.dtype)
    read_one = read_fine
  end
  local read_scales = { A = read_one(options.scale_a, "scale_a", p.a, l, device),
                        B = read_one(options.scale_b, "scale_b", p.b, l, device) }
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
      .. (of.dtype and of.dtype.name or "") .. (of.wide and " wide" or "")
  end
  return table.concat(words, ",")
end

function M.kinds(read_scales)
  if not read_scales then return nil end
  local kinds = {}
  for name, of in pairs(read_scales) do
    kinds[name] = { rows = of.rows, deep = of.deep, block = of.block, dtype = of.dtype,
                    wide = of.wide }
  end
  return kinds
end

return M
