-- Every atom of the table: its layouts give each element exactly one owner, or the same to all
-- threads where an operand is in shared memory; and its parts agree with its name. An argument N
-- takes every Nth atom.
local every <const> = tonumber(arg[1]) or 1
local n_wrong, n_checked = 0, 0

local function check(fact, format, ...)
  n_checked = n_checked + 1
  if not fact then
    n_wrong = n_wrong + 1
    if n_wrong < 20 then print(format:format(...)) end
  end
end

-- law(layout, n), looked at once for each layout: a thousand atoms share a few hundred.
local function once(law)
  local known = {}
  return function(layout, n)
    local key = ("%s %d"):format(layout, n)
    if known[key] == nil then known[key] = law(layout, n) end
    return known[key]
  end
end

local is_onto_once = once(function(layout, n)
  local seen, count = {}, 0
  for _, i in ipairs(layout:values()) do
    if i < 0 or i >= n or seen[i] then return false end
    seen[i], count = true, count + 1
  end
  return count == n
end)

-- Of (thread, value): all threads have the same, which has every element once.
local is_broadcast = once(function(layout, n)
  return layout(1, 0) == layout(0, 0) and is_onto_once(layout(0, _), n)
end)

local seen_names = {}

local operands = { { "a", 1, 3 }, { "b", 2, 3 }, { "c", 1, 2 } }

-- Every scale of a row of A, or of a column of B, has an owner.
local function check_scales(a)
  local blocks = a.shape[3] // a.sf_vec_size
  for letter, rows in pairs { sfa = a.shape[1], sfb = a.shape[2] } do
    local l, seen, count = a["layout_" .. letter], {}, 0
    for _, i in ipairs(l:values()) do
      if not seen[i] then seen[i], count = true, count + 1 end
    end
    check(count == rows * blocks and cosize(l) == count, "%s: %s %s", a.name, letter, l)
    -- A thread of tcgen05, a block, has its rows of A's scales, and all of B's.
    local own = letter == "sfa" and rows // a.threads or rows
    local each = a.family == "tcgen05" and own * blocks or blocks
    check(size(l, 1) == each and a.bits[letter] == 8, "%s: bits of %s", a.name, letter)
  end
  if a.family == "tcgen05" then
    local name, kind = tostring(a.dtypes.sfa), ".block_scale.block" .. a.sf_vec_size
    check(a.name:find(name, 1, true) and a.ptx:find(kind, 1, true), a.ptx)
    return
  end
  check(a.name:find(("_VS<.*,%s,%d>$"):format(a.dtypes.sfa, a.sf_vec_size)), a.name)
  check(a.ptx:find((".scale_vec::%dX."):format(blocks), 1, true), a.ptx)
end

local function check_mma(a)
  for _, row in ipairs(operands) do
    local letter, rows, cols = table.unpack(row)
    local l, n = a["layout_" .. letter], a.shape[rows] * a.shape[cols]
    check(size(l, 0) == a.threads, "%s: threads of %s", a.name, letter)
    local is_shared = a.spaces[letter] ~= "registers" and a.family ~= "tcgen05"
    check((is_shared and is_broadcast or is_onto_once)(l, n), "%s: %s %s", a.name, letter, l)
    local unit = math.max(32, math.min(a.bits[letter], 64))
    local is_one = a.spaces[letter] ~= "registers"
    check(a.registers[letter] == (is_one and 1 or cdiv(size(l, 1) * a.bits[letter], unit)),
      "%s: registers of %s", a.name, letter)
  end
  if a.sf_vec_size then check_scales(a) end
  if a.family == "mma.sync" or a.family == "wgmma" then
    local M, N, K = a.name:match("^SM%d+_(%d+)x(%d+)x(%d+)_")
    check(("(%s,%s,%s)"):format(M, N, K) == tostring(a.shape), "%s: shape %s", a.name, a.shape)
    check(a.ptx:find(("m%sn%sk%s."):format(M, N, K), 1, true), "%s: %s", a.name, a.ptx)
    check(a.name:find("^SM" .. a.sm), "%s: sm %d", a.name, a.sm)
    check(a.section:find(a.family == "wgmma" and "^9%.7%.15%." or "^9%.7%.14%.5%."), a.name)
  end
end

-- The lanes of a warp are different ones.
local function check_lanes(a)
  local seen = {}
  for _, lane in ipairs(a.thr_id:values()) do
    check(not seen[lane] and lane < 128, "%s: lane %d", a.name, lane)
    seen[lane] = true
  end
  check(size(a.thr_id) == a.threads, "%s: %d threads", a.name, a.threads)
end

-- Each bit once on a side of registers; on a side of addresses some threads' may not count.
local function check_copy(a)
  for _, side in ipairs { "src", "dst", "ref" } do
    local l = a[side]
    check(size(l, 0) == a.threads, "%s: threads of %s", a.name, side)
    if size(l) == a.bits then
      check(is_onto_once(l, a.bits), "%s: %s %s", a.name, side, l)
    else
      check(a.family:find("matrix$") and cosize(l) == a.bits, "%s: %s %s", a.name, side, l)
    end
  end
  check(size(a.ref) == a.bits, "%s: %s", a.name, a.ref)
end

for i, name in ipairs(atoms()) do
  if i % every ~= 0 then goto continue end
  local a = atom(name)
  check(not seen_names[name], "%s twice", name)
  seen_names[name] = true
  check(a.name == name and a == atom(name), "%s is %s", name, a.name)
  check_lanes(a)
  local check_kind = a.kind == "mma" and check_mma or check_copy
  check_kind(a)
  ::continue::
end
print(n_wrong, n_checked > 20000 // every)  -- expect: 0	true

-- How many of each family: what CuTe 4 has, and the five types of UniversalFMA that are listed.
local counts = {}
for _, family in ipairs { "fma", "dp", "mma.sync", "wgmma", "tcgen05", "copy", "cp.async",
                        "ldmatrix", "tcgen05.ld", "tcgen05.st" } do
  counts[#counts + 1] = family .. " " .. #atoms { family = family }
end
print(table.concat(counts, ", "))  -- expect: fma 5, dp 2, mma.sync 167, wgmma 1056, tcgen05 1008, copy 5, cp.async 8, ldmatrix 6, tcgen05.ld 29, tcgen05.st 29
-- A device of compute capability 8.0 has those of 7.5 and before; one of 10.0 has no wgmma.
local on_80, on_100 = atoms { sm = 80, kind = "mma" }, atoms { sm = 100, family = "wgmma" }
print(on_80[#on_80], #on_100)  -- expect: SM80_16x8x256_S32U1U1S32_TN_XORPOPC	0
-- Products of integers in tensor memory are on sm_100 and sm_110 only.
local function count_i8(sm) return #atoms { family = "tcgen05", dtype = i8, sm = sm } end
print(count_i8(100) > 0, count_i8(110) > 0, count_i8(103), count_i8(90))  -- expect: true	true	0	0
print(#atoms { dtype = "f8e5m2", family = "mma.sync" }, #atoms { dtype = bf16, sm = 80 })  -- expect: 33	3
