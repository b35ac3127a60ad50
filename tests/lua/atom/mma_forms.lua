-- The forms of a product by an atom: by k, by single atoms, in any order, by several warps; tiles that are
-- permuted, fragments of tf32, words of numbers of 4 bits and of 1.
-- needs sm_80
local here = device().sm and "cuda" or "cpu"

local function equals(C, want)
  return reference.difference(recast(C:to("cpu"), u32), recast(want:to("cpu"), u32)) == nil
end

local function copy_all(thr, A, B, C)
  local gA, gB = thr:partition_A(A), thr:partition_B(B)
  local rA, rB, rC = thr:fragment_A(gA), thr:fragment_B(gB), thr:fragment_C(thr:partition_C(C))
  copy(gA, rA)
  copy(gB, rB)
  clear(rC)
  return rA, rB, rC
end

-- What one thread does with its fragments.
local forms = {
  whole = function(mma, rA, rB, rC) gemm(mma, rA, rB, rC) end,
  rows = function(mma, rA, rB, rC) gemm(mma, rA, rB, rC, { order = "rows" }) end,
  pairs = function(mma, rA, rB, rC) gemm(mma, rA, rB, rC, { order = "column_pairs" }) end,
  by_k = function(mma, rA, rB, rC)
    for k in axes(rA, 2) do gemm(mma, rA(_, _, k), rB(_, _, k), rC) end
  end,
  atoms = function(mma, rA, rB, rC)
    for k = 0, size(rA, 2) - 1 do
      for m = 0, size(rA, 1) - 1 do
        for n = 0, size(rB, 1) - 1 do
          gemm(mma.atom, rA(_, m, k), rB(_, n, k), rC(_, m, n))
        end
      end
    end
  end,
}

local function product(form, name, layout_of_atoms, perm, A, B, M, N)
  local mma = tiled_mma(name, layout_of_atoms, perm)
  local C = zeros(mma.atom.dtypes.d, row_major { M, N })
  kernel("forms", function(a, b, c)
    local thr = mma:get_slice(threadIdx.x)
    local rA, rB, rC = copy_all(thr, a, b, c)
    forms[form](mma, rA, rB, rC)
    copy(rC, thr:partition_C(c))
  end, { static_shapes = true }) { grid = 1, block = mma.threads }(A, B, C)
  return C
end

local half <const> = "SM80_16x8x16_F32F16F16F32_TN"
local A, B = rand(f16, row_major { 64, 48 }), rand(f16, row_major { 96, 48 })
local whole = product("whole", half, { 2, 2 }, nil, A, B, 64, 96)
print(allclose(whole, reference.matmul(A, B)))  -- expect: true
for _, form in ipairs { "rows", "pairs", "by_k", "atoms" } do
  if not equals(product(form, half, { 2, 2 }, nil, A, B, 64, 96), whole) then print(form) end
end
-- More in n side by side, m in another order: the same products, on other threads.
local permuted = product("by_k", half, { 2, 1 }, { 32, L"(2,4,4):(1,8,2)", 16 }, A, B, 64, 96)
print(equals(permuted, whole))  -- expect: true
permuted = product("by_k", half, { 4, 1 }, { L"(4,16):(16,1)", _, 16 }, A, B, 64, 96)
print(equals(permuted, whole))  -- expect: true

-- tf32: a fragment of tf32 or of f32, whose lowest 13 bits are not read.
local tf <const> = "SM80_16x8x8_F32TF32TF32F32_TN"
local X, Y = rand(f32, row_major { 32, 16 }), rand(f32, row_major { 16, 16 })
local rounded, cut = {}, {}
for i, t in ipairs { X, Y } do
  rounded[i] = reference.cast(t:to("cpu"), tf32):to(here)
  local bits = recast(t:to("cpu"), u32)
  local upper = zeros(u32, row_major(shape(t))):to("cpu")
  for j = 0, size(bits) - 1 do upper[j] = bits[j] & 0xffffe000 end
  cut[i] = recast(upper, f32):to(here)
end
local function product_of(pair) return product("whole", tf, nil, nil, pair[1], pair[2], 32, 16) end
print(equals(product_of { X, Y }, product_of(cut)))  -- expect: true
print(allclose(product_of(rounded), reference.matmul(X, Y), { rtol = 1e-2 }))  -- expect: true
print(equals(product_of { X, Y }, product_of(rounded)))  -- expect: false

-- Eight numbers of 4 bits in a word, the first in the lowest bits; 32 bits.
local P, Q = zeros(u32, row_major { 8, 4 }):to("cpu"), zeros(u32, row_major { 8, 4 }):to("cpu")
for i = 0, 7 do
  P[{ i, 0 }] = 0x87654321         -- -8 7 6 5 4 3 2 1
  Q[{ i, 0 }] = 1 << (4 * i)       -- 1 at k = i
end
local function words_of(name, P, Q)
  return product("whole", name, nil, nil, P:to(here), Q:to(here), 8, 8):to("cpu")
end
local picked = words_of("SM80_8x8x32_S32S4S4S32_TN", P, Q)
print(table.concat(picked(0, _):totable(), " "))  -- expect: 1 2 3 4 5 6 7 -8
print(words_of("SM80_8x8x128_S32U1U1S32_TN_ANDPOPC", P, P)[{ 3, 4 }])  -- expect: 13
local mma = tiled_mma("SM80_16x8x64_S32S4U4S32_TN")
print(mma:get_slice(5):partition_A(zeros(u32, row_major { 16, 16 })).layout)  -- expect: ((2,2),1,2):((128,4),0,8)
print(mma:get_slice(5):partition_A(layout(row_major { 16, 64 })))  -- expect: ((8,2,2),1,1):((1,512,32),0,0)	72

-- Sizes that no tile divides, down to single elements; a row that is the same for all of m.
local ragged = kernel("ragged", function(A, B, C)
  local thr = tiled_mma(half, { 2, 2 }):get_slice(threadIdx.x)
  local gA = tile(guard(A), { 32, 32 }, { blockIdx.x, _ })
  local gB = tile(guard(B), { 32, 32 }, { blockIdx.y, _ })
  local tC = thr:partition_C(tile(guard(C), { 32, 32 }, { blockIdx.x, blockIdx.y }))
  local tA, tB = thr:partition_A(gA), thr:partition_B(gB)
  local rA, rB = thr:fragment_A(tA(_, _, _, 0)), thr:fragment_B(tB(_, _, _, 0))
  local rC = thr:fragment_C(tC)
  clear(rC)
  for k in axes(gA, 2) do
    copy(tA(_, _, _, k), rA)
    copy(tB(_, _, _, k), rB)
    gemm(thr, rA, rB, rC)
  end
  copy(rC, tC)
end)
for _, size in ipairs { { 50, 70, 20 }, { 33, 1, 65 }, { 1, 1, 1 } } do
  local M, N, K = table.unpack(size)
  local X1, Y1 = rand(f16, row_major { M, K }), rand(f16, row_major { N, K })
  local R = zeros(f32, row_major { M, N })
  ragged { grid = { cdiv(M, 32), cdiv(N, 32) }, block = 128 } (X1, Y1, R)
  if not allclose(R, reference.matmul(X1, Y1)) then print(M, N, K) end
end
local row = view(rand(f16, 32), layout({ 64, 32 }, { 0, 1 }))
local other = rand(f16, row_major { 96, 32 })
local same = product("whole", half, { 2, 2 }, nil, row, other, 64, 96)
print(allclose(same, reference.matmul(row, other)))  -- expect: true
