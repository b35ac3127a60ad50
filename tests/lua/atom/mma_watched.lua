-- What the CPU engine says of products by atoms: fragments that were not written, counts, and where an
-- element comes from.
-- needs sm_80
device "cpu"
local mma = tiled_mma("SM80_16x8x8_F32F16F16F32_TN", { 2, 1 })

local function make(clears)
  return kernel("product", function(A, B, C)
    local thr = mma:get_slice(threadIdx.x)
    local gA, gB, gC = thr:partition_A(A), thr:partition_B(B), thr:partition_C(C)
    local rA, rB, rC = thr:fragment_A(gA), thr:fragment_B(gB), thr:fragment_C(gC)
    copy(gA, rA)
    copy(gB, rB)
    if clears then clear(rC) end
    gemm(mma, rA, rB, rC)
    copy(rC, gC)
  end, { static_shapes = true })
end

local A, B, C = rand(f16, { 32, 16 }), rand(f16, { 16, 16 }), zeros(f32, { 32, 16 })
local function found(clears)
  local k = make(clears)
  local _, text = pcall(function() k { grid = 1, block = 64, check = true } (A, B, C) end)
  return tostring(text):match "uninitialised[^\n]*" or "none"
end
print(found(true))  -- expect: none
print(found(false):gsub("%(%d+ times%)", "(n times)"))
-- expect: uninitialised: read of rC at ((0,0),0,0), extent ((2,2),1,2), by thread (0,0,0) of block (0,0,0): the thread has not written it; clear or fill the fragment first (n times)	1

-- Two warps, each of which runs 1 x 2 x 2 instructions.
local k = make(true)
local p = profile(function() k { grid = 1, block = 64 } (A, B, C) end)
for _, line in ipairs(p.kernels[1].lines) do
  if line.mma > 0 then print(line.mma, line.fma, line.int_fma) end  -- expect: 8	0	0
end
local dp4a = tiled_mma("SM61_DP4A", { 8, 4 })
p = profile(function()
  kernel("bytes", function(out)
    local r, c = fragment(i8, { 4, 2, 1 }), fragment(i32, { 1, 2, 2 })
    fill(r, 2)
    clear(c)
    gemm(dp4a, r, r, c)
    out[threadIdx.x] = c[0]
  end) { grid = 1, block = 32 } (zeros(i32, 32))
end)
local total = 0
for _, line in ipairs(p.kernels[1].lines) do total = total + line.int_fma end
print(total)  -- expect: 512

-- Element (19,9): a row of A and a column of B, from the fragments of all lanes that have parts of these.
local from = { A = {}, B = {} }
local t = trace(k { grid = 1, block = 64 }, { C = { 19, 9 } }, A, B, C)
for _, row in ipairs(t.rows) do
  if row.kind == "reads" and row.space == "global" then from[row.tensor][row.offset] = true end
end
local right = true
for m = 0, 31 do
  for j = 0, 15 do right = right and (from.A[A.layout(m, j)] or false) == (m == 19) end
end
for n = 0, 15 do
  for j = 0, 15 do right = right and (from.B[B.layout(n, j)] or false) == (n == 9) end
end
print(right)  -- expect: true

-- An infinity comes of another lane's operand; nan = true looks for those that come of finite ones.
A = A:to("cpu")
A[{ 3, 2 }] = 1 / 0
print((pcall(function()
  make(true) { grid = 1, block = 64, check = { nan = true } } (A, B, C)
end)), C[{ 3, 5 }])  -- expect: true	inf
