-- Shuffles and votes are counted, by instructions of warps; what is said of single lanes, of fragments of an MMA and of times below a launch's.
-- needs sm_80
local function by_line(kernel) -- from the function's line on
  local out = {}
  for _, line in ipairs(kernel.lines) do out[line.line - kernel.line] = line end
  return out
end

local k = kernel("exchange", function(x, y)
  local v = x[threadIdx.x]
  for i = 0, 4 do v = v + shfl_xor(v, 1 << i) end
  if vote_any(v > 0.0) and ballot(v > 1.0) ~= 0 then y[threadIdx.x] = v end
  local w = shfl_xor(cast(v, f64), 1)
  if threadIdx.x == 0 then y[1000] = v + cast(w, f32) end
end)
local p = profile(function() k{grid = 1, block = 128}(ones(f32, 128), zeros(f32, 2000)) end)
local lines = by_line(p.kernels[1])
print(lines[2].shuffles, lines[2].votes, lines[3].shuffles, lines[3].votes) -- expect: 20	0	0	8
print(lines[4].shuffles) -- expect: 8
print(p.kernels[1].totals.shuffles, p.kernels[1].totals.votes) -- expect: 28	8
local text = tostring(p)
print(text:find("arithmetic: [^\n]*28 shuffles, 8 votes") ~= nil) -- expect: true
print(text:find("\n +11 [^\n]* 20 shuffles\n") ~= nil) -- expect: true

-- Matches and reductions of a mask count as votes; 8 bytes are two.
local part = kernel("part", function(x, y)
  local lanes = ballot(x[threadIdx.x] > 1)
  if x[threadIdx.x] > 1 then
    local of_lanes = {mask = lanes}
    y[threadIdx.x] = shfl_idx(warp_reduce(threadIdx.x, "max", of_lanes), ffs(lanes) - 1, of_lanes)
    y[0] = popc(match_any(cast(threadIdx.x, i64), {mask = lanes}))
  end
end)
p = profile(function() part{grid = 1, block = 64}(arange(i32, 64), zeros(i32, 64)) end)
local of_part = by_line(p.kernels[1])
print(of_part[4].shuffles, of_part[4].votes, of_part[5].shuffles, of_part[5].votes) -- expect: 2	2	0	4

-- One lane has no neighbours; 32 of them far apart have.
print(lines[5].accesses[1].remark) -- expect: nil
local far = kernel("far", function(x, y) y[threadIdx.x] = x[{0, threadIdx.x}] end)
p = profile(function() far{grid = 1, block = 32}(ones(f32, {32, 32}), zeros(f32, 32)) end)
print(p.kernels[1].lines[1].accesses[1].remark)
-- expect: neighbouring lanes are far apart in x; let them access neighbouring elements

-- Lanes that read one element are not far apart.
local one = kernel("one", function(x, y) y[threadIdx.x] = x[blockIdx.x] end)
p = profile(function() one{grid = 1, block = 32}(ones(f32, 8), zeros(f32, 32)) end)
print(p.kernels[1].lines[1].accesses[1].remark) -- expect: nil

-- A few bytes take less than a launch does; some of 2^20 elements do not.
local fill_all = kernel("fill_all", function(x) x[blockIdx.x * 1024 + threadIdx.x] = 1.0 end)
local function roofline(blocks)
  local x = zeros(f32, blocks * 1024)
  local of = profile(function() fill_all{grid = blocks, block = 1024}(x) end)
  return tostring(of):match("roofline of H200: at least [^\n]* by memory(, [^;]*);")
end
print(roofline(1))    -- expect: , less than a launch itself takes (some 2 us)
print(roofline(4096)) -- expect: nil

-- Fragments of an MMA: their layouts are the atom's.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, {32, 32, 16})
local product = kernel("product", function(A, B, C)
  local sA = shared(f16, layout{32, 16})
  copy(parallelize(A, {32, 4}, threadIdx.x), parallelize(sA, {32, 4}, threadIdx.x))
  sync_threads()
  local thr = mma:get_slice(threadIdx.x)
  local rA, rB = thr:partition_fragment_A(sA), thr:partition_fragment_B(B)
  local rC = thr:partition_fragment_C(C)
  copy(thr:partition_A(sA), rA)
  copy(thr:partition_B(B), rB)
  clear(rC)
  gemm(mma, rA, rB, rC)
  copy(rC, thr:partition_C(C))
end, {static_shapes = true})
p = profile(function()
  product{grid = 1, block = 128}(ones(f16, {32, 16}), ones(f16, {32, 16}), zeros(f32, {32, 32}))
end)
lines = by_line(p.kernels[1])
print(lines[2].accesses[1].mma, lines[2].accesses[1].reason)
-- expect: nil	the element that a thread accesses next is not the next one of A
print(lines[7].accesses[1].mma, lines[7].accesses[1].fix)
-- expect: operand	load them from shared memory with ldmatrix: see tiled_copy_A, tiled_copy_B and atoms{family = "ldmatrix"}
print(lines[8].accesses[1].mma, lines[11].accesses[1].mma, lines[11].accesses[1].reason)
-- expect: operand	sum	the MMA's atom determines which elements of C a thread has
