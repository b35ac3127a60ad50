-- Products of 8 and 32 bits whose operands are both contiguous along M and N: one is transposed
-- into memory first. Sizes that fit no tile, batches, one operand for all of them, an epilogue, a
-- second call with other tensors, memory for the operand that lies apart; what it is not for.
-- needs sm_90a
local matmul_of = require "cuttle.matmul"
local here = zeros(f32, 1).device

local function small(dtype, rows, depth, batches, is_shared)
  local n = is_shared and 1 or batches
  local x = reference.cast(rand(i32, rows * depth * n, -2, 3):to("cpu"), dtype)
  return view(x:to(here), layout({rows, depth, batches},
    {1, rows, is_shared and 0 or rows * depth}))
end

local function config(tile)
  return {name = "small, transposed first", template = "cuttle.gemm_hopper", tile = tile,
          schedule = "cooperative", stages = 2, registers = {40, 232}, store = {1, 2},
          order = "groups", group = 4, blocks = 3, transposes = true}
end

local rows = {
  {dtype = i8, sums = i32, tile = {128, 128, 128}, m = 144, n = 208, k = 272, l = 2},
  {dtype = f8e4m3, sums = f32, tile = {128, 128, 128}, m = 272, n = 112, k = 136, l = 1},
  {dtype = tf32, sums = f32, tile = {64, 128, 32}, m = 68, n = 132, k = 37, l = 3, shared = true},
}
for number, row in ipairs(rows) do
  for turn = 1, 2 do
    local A = small(row.dtype, row.m, row.k, row.l, row.shared)
    local B = small(row.dtype, row.n, row.k, row.l)
    local C = zeros(row.sums, {row.m, row.n, row.l}):to(here)
    matmul(A, B, C, {config = config(row.tile), alpha = 2.0})
    local got, wrong = C:to("cpu"), 0
    for l = 0, row.l - 1 do
      local R = reference.matmul(reference.cast(A(_, _, l), f32), reference.cast(B(_, _, l), f32))
      for i = 0, size(R) - 1 do
        if got(_, _, l)[i] ~= 2 * R[i] then wrong = wrong + 1 end
      end
    end
    if wrong > 0 then print(number, row.dtype, turn, wrong) end
  end
end
print "right"  -- expect: right

local A = small(i8, 128, 128, 1)
print((select(2, matmul_of.prepare(A, A, {config = config{128, 128, 128}}))))
-- expect: small, transposed first
local _, why = pcall(matmul, A(_, _, 0), A, {config = "hopper 256x128x128, transposed first",
  groups = full(i32, 1, 128)})
print(why:match "it transposes.*")
-- expect: it transposes an operand first, for matrices with one stride per mode and without groups
local p = matmul_of.problem(A, A)
p.k = 65535 * 128 + 1
print(require "cuttle.gemm_hopper".trouble(config{128, 128, 128}, p))
-- expect: it transposes an operand first, of up to 65535 blocks along K
