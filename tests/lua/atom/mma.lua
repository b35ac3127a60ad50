-- Every MMA atom but those of wgmma, of tcgen05 and of complex numbers: one warp computes D = A * B + C with the parts
-- that a tiled MMA gives each thread, twice the tile in M, N and K. Integers must be exact, sums of floats
-- within their type's bound of the exact ones. On a GPU what it has no instruction for is passed over. Atoms with
-- scales are in scaled_mma.lua.
local here = device().sm and "cuda" or "cpu"
local n_wrong, n_run, n_passed = 0, 0, 0

-- What a type's operands and sums are read and computed with.
local bits_of = { i4 = 4, u4 = 4, u1 = 1 }

-- Numbers that make sums of many sizes, and cancel or overflow.
local function numbers(dtype, shape)
  if dtype == f64 or tostring(dtype):find("^[bt]?f") then return rand(dtype, shape, -2, 2) end
  local t = zeros(dtype, shape):to("cpu")
  local lo, hi = -128, 127
  if dtype == u8 then lo, hi = 0, 255 elseif dtype == i16 then lo, hi = -32768, 32767 end
  if dtype == u32 then lo, hi = 0, 0xffffffff end
  if dtype == i32 then lo, hi = -1 << 31, (1 << 31) - 1 end
  for i = 0, size(t) - 1 do t[i] = math.random(lo, hi) end
  for i = 0, dtype == i32 and size(t) - 1 or -1, 2 do -- every second sum is about to overflow
    t[i] = i % 4 == 0 and lo + math.random(0, 300) or hi - math.random(0, 300)
  end
  return t
end

-- The elements along k that the operand's tensor has: t(row, k) as numbers.
local function rows_of(t, dtype)
  local rows, out = size(t, 0), {}
  local n, bits = size(t, 1), bits_of[dtype]
  for r = 0, rows - 1 do
    local row = {}
    for c = 0, n - 1 do
      local v = t[{ r, c }]
      if not bits then
        row[#row + 1] = v
      else
        for i = 0, 32 // bits - 1 do
          local e = v >> (bits * i) & ((1 << bits) - 1)
          row[#row + 1] = dtype == "i4" and (e ~ 8) - 8 or e
        end
      end
    end
    out[r] = row
  end
  return out
end

local function wrap(v) return (v + (1 << 31) & 0xffffffff) - (1 << 31) end
local function clamp(v) return math.max(-1 << 31, math.min(v, (1 << 31) - 1)) end

-- The sum of an integer atom, instruction by instruction of `k` elements.
local function exact_sum(a, x, y, c, k)
  local settle = a.name:find("SATURATE") and clamp or wrap
  local is_xor, is_bits = a.name:find("XOR"), a.name:find("POPC")
  for first = 1, #x, k do
    local sum = 0
    for i = first, first + k - 1 do
      sum = sum + (is_xor and x[i] ~ y[i] or is_bits and x[i] & y[i] or x[i] * y[i])
    end
    c = settle(c + sum)
  end
  return c
end

-- The exact sum of floats, nearly, and how far off the atom's may be.
local eps = { f64 = 2.0 ^ -50, f32 = 2.0 ^ -20, f16 = 2.0 ^ -8 }
local function float_sum(a, x, y, c)
  local sum, size_of_all = c, math.abs(c)
  for i = 1, #x do
    local p = x[i] * y[i]
    sum, size_of_all = sum + p, size_of_all + math.abs(p)
  end
  local e = a.bits.a == 8 and 2.0 ^ -8 or eps[tostring(a.dtypes.d)]
  return sum, e * size_of_all
end

-- Rounds to tf32 what the instruction reads of an f32: its upper 19 bits.
local function upper_bits(x)
  local bits = string.unpack("<I4", string.pack("<f", x))
  return (string.unpack("<f", string.pack("<I4", bits & 0xffffe000)))
end

local function is_right(a, x, y, c, d)
  if tostring(a.dtypes.d):find("^i") then return exact_sum(a, x, y, c, a.shape[3]) == d end
  local want, bound = float_sum(a, x, y, c)
  return math.abs(want - d) <= bound
end

local function check(a, A, B, C, D)
  local X, Y = rows_of(A, a.dtypes.a), rows_of(B, a.dtypes.b)
  if a.dtypes.a == tf32 then
    for _, rows in ipairs { X, Y } do
      for _, row in pairs(rows) do
        for i, v in ipairs(row) do row[i] = upper_bits(v) end
      end
    end
  end
  for m = 0, size(C, 0) - 1 do
    for n = 0, size(C, 1) - 1 do
      if not is_right(a, X[m], Y[n], C[{ m, n }], D[{ m, n }]) then
        n_wrong = n_wrong + 1
        return print(a.name, m, n, C[{ m, n }], D[{ m, n }])
      end
    end
  end
end

local atom_layouts = { [1] = { 8, 4 }, [8] = { 2, 2 } }

local function run_product(mma, ...)
  kernel("product", function(A, B, C, D)
    local thr = mma:get_slice(threadIdx.x)
    local gA, gB, gC = thr:partition_A(A), thr:partition_B(B), thr:partition_C(C)
    local rA, rB, rC = thr:fragment_A(gA), thr:fragment_B(gB), thr:fragment_C(gC)
    copy(gA, rA)
    copy(gB, rB)
    copy(gC, rC)
    gemm(mma, rA, rB, rC)
    copy(rC, thr:partition_C(D))
  end, { static_shapes = true }) { grid = 1, block = 32 }(...)
end

-- The tensor's type, and its elements for each of the atom's.
local function type_of(dtype)
  if bits_of[dtype] then return u32, 32 // bits_of[dtype] end
  return dtype == tf32 and f32 or dtype, 1
end

local function run(a)
  local mma = tiled_mma(a, atom_layouts[a.threads])
  local M, N, K = mma:tile_size_mnk(0) * 2, mma:tile_size_mnk(1) * 2, mma:tile_size_mnk(2) * 2
  local ta, per = type_of(a.dtypes.a)
  local A = numbers(ta, row_major { M, K // per })
  local B = numbers(type_of(a.dtypes.b), row_major { N, K // per })
  local C, D = numbers(a.dtypes.c, row_major { M, N }), zeros(a.dtypes.d, row_major { M, N })
  run_product(mma, A:to(here), B:to(here), C:to(here), D)
  check(a, A:to("cpu"), B:to("cpu"), C:to("cpu"), D:to("cpu"))
end

manual_seed(1)
math.randomseed(1)
for _, name in ipairs(atoms { kind = "mma" }) do
  local a = atom(name)
  local is_plain = a.family ~= "wgmma" and a.family ~= "tcgen05" and a.family ~= "fma"
    and not a.sf_vec_size
  if is_plain and a.times == 1 then
    local ok, why = pcall(run, a)
    if ok then n_run = n_run + 1
    elseif why:find("needs sm_%d+a?; the target is sm_%d+") then n_passed = n_passed + 1
    else print(why) end
  end
end
print(n_wrong, n_run + n_passed, n_run > 10)  -- expect: 0	137	true
