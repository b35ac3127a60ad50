-- atom.lua: MMA and copy atoms by name, and lists of them. The rows are in runtime/ir/atoms.def.
--   atom(name[, dtype])   the atom of CuTe's name; of a copy, with the type of its elements
--   atoms([filter])       the names of all, or of those that {kind =, family =, sm =, dtype =} fit
--   smem_atom(name, dtype) the shared-memory layout atoms of wgmma: "K_SW128", "MN_INTER", ...
--   gmma_layout(dtype, major, bytes) the same: "K" or "MN", and the bytes of the swizzle
local language = require "cuttle"
local internal = ...
local M = {}

local fail = require "cuttle.fail".fail

-- {====== By name ======

local names -- of all atoms, made when it is needed

local function all_names()
  if not names then
    names = {}
    for i, a in ipairs(internal.kernel.atoms()) do names[i] = a.name end
  end
  return names
end

-- Copy atoms move whole elements.
local function check_dtype(a, dtype)
  if a.kind == "mma" then
    fail("atom", "%s multiplies %s by %s; only an atom that copies is given a type", a.name,
      a.dtypes.a, a.dtypes.b)
  end
  local width = math.tointeger(8 * dtype.bytes)
  for _, side in ipairs { "src", "dst" } do
    if size(a[side], 1) % width ~= 0 then
      fail("atom", "%s moves %d bits per thread, which hold no whole number of %s (%d bits); "
        .. "give it a narrower type or use a wider atom", a.name, size(a[side], 1), dtype,
        width)
    end
  end
end

-- What a name may have meant: of wgmma the same with the nearest N.
local function guess_name(name)
  local known = all_names()
  local before, n, behind = name:match("^(SM90_64x)(%d+)(x.*)$")
  local best
  for _, other in ipairs(n and known or {}) do
    local m = #other > #before + #behind and other:sub(1, #before) == before and
      other:sub(-#behind) == behind and tonumber(other:sub(#before + 1, -#behind - 1))
    if m and (not best or math.abs(m - n) < math.abs(best - n)) then best = m end
  end
  return best and ("'%s%d%s'"):format(before, best, behind)
    or require "cuttle.near".nearest(name, known)
end

function M.atom(name, dtype)
  if type(name) ~= "string" then
    fail("atom", "a name like \"SM80_16x8x16_F32F16F16F32_TN\" was expected, got %s", type(name))
  end
  local a = internal.kernel.atom(name, dtype)
  if not a then
    local guess, other = guess_name(name), require("cuttle.name_guess").guess_theirs(name)
    fail("atom", "there is no atom '%s'; %s", name, guess and ("did you mean %s?"):format(guess) or
      other ~= "" and other:sub(3) or "atoms() lists their names")
  end
  if a.dtype or dtype then check_dtype(a, a.dtype or dtype) end
  return a
end

-- {====== Lists ======

local function has_type(a, dtype)
  if a.kind == "copy" then return false end
  for _, t in pairs(a.dtypes) do
    if tostring(t) == tostring(dtype) then return true end
  end
  return false
end

-- Does the atom fit the value of one entry of a filter?
local filters = {
  kind = function(a, kind) return a.kind == kind end,
  family = function(a, family) return a.family == family end,
  sm = function(a, sm) return internal.kernel.is_atom_on(a, sm) end,
  dtype = has_type,
}

function M.atoms(filter)
  filter = filter or {}
  if type(filter) ~= "table" then
    fail("atoms", "a table like {family = \"ldmatrix\", sm = 80} was expected, got %s",
      type(filter))
  end
  for key in pairs(filter) do
    if not filters[key] then
      fail("atoms", "'%s' is not a filter; expected kind, family, sm or dtype", tostring(key))
    end
  end
  if filter.sm ~= nil and type(filter.sm) ~= "number" then
    fail("atoms", "sm is %s; a compute capability such as 90 was expected", tostring(filter.sm))
  end
  local out = {}
  for _, a in ipairs(internal.kernel.atoms()) do
    local fits = true
    for key, value in pairs(filter) do fits = fits and filters[key](a, value) end
    if fits then out[#out + 1] = a.name end
  end
  return out
end

-- {====== Shared-memory atoms of wgmma ======

-- log2 of how many rows of 16 bytes a swizzle mixes: Sw<B,4,3> on bytes.
local swizzles = { INTER = 0, SW32 = 1, SW64 = 2, SW128 = 3 }

-- A layout of 8 rows of 16, 32, 64 or 128 bytes, contiguous in k (K_) or in m or n (MN_), the
-- swizzle on numbers of elements.
function M.smem_atom(name, dtype)
  local major, width = tostring(name):match("^(M?[NK])_(%w+)$")
  local bits = swizzles[width]
  if not bits or (major ~= "K" and major ~= "MN") then
    fail("smem_atom", "there is no '%s'; expected K_ or MN_ with INTER, SW32, SW64 or SW128 after "
      .. "it", tostring(name))
  end
  local element = type(dtype) == "string" and language[dtype] or dtype
  if getmetatable(element) ~= getmetatable(f32) then
    fail("smem_atom", "an element type like f16 was expected, got %s", tostring(dtype))
  end
  element = element.bits
  local row = (128 << bits) // element
  local plain = major == "K" and layout({ 8, row }, { row, 1 }) or
    layout({ row, 8 }, { 1, row })
  local unit = 0 -- log2 of the elements in 16 bytes
  while element << unit < 128 do unit = unit + 1 end
  return composition(swizzle(bits, unit, 3), plain)
end

local widths <const> = { [0] = "INTER", [32] = "SW32", [64] = "SW64", [128] = "SW128" }

-- The same by major and bytes of the swizzle.
function M.gmma_layout(dtype, major, bytes)
  if major ~= "K" and major ~= "MN" then
    fail("gmma_layout", "the major is %s; \"K\" (contiguous along K) or \"MN\" (along M or N) was "
      .. "expected", type(major) == "string" and '"' .. major .. '"' or tostring(major))
  end
  if bytes == nil then
    fail("gmma_layout", "argument 3 is missing; the bytes of the swizzle, 128, 64, 32 or 0 (none), "
      .. "were expected")
  elseif not widths[bytes] then
    fail("gmma_layout", "the swizzle is of %s bytes; 128, 64, 32 or 0 (none) was expected",
      tostring(bytes))
  end
  return M.smem_atom(major .. "_" .. widths[bytes], dtype)
end

return M
