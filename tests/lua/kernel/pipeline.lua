-- pipeline: products whose main loop is each of its forms, for less tiles than slots and for more.
local bM, bN, bK = 32, 32, 8

local function matmul(form)
  return kernel("matmul", function(A, B, C)
    local slots = form.stages or form.store and 1 or 2
    local sA, sB = shared(f32, {bM, bK, slots}), shared(f32, {bN, bK, slots})
    local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
    local t, thr = layout{32, 2}, layout{8, 8}
    local tAgA, tAsA = parallelize(gA, t, threadIdx.x), parallelize(sA, t, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, t, threadIdx.x), parallelize(sB, t, threadIdx.x)
    local tArA, tBrB = fragment_like(tAgA(_, _, 0)), fragment_like(tBgB(_, _, 0))
    local tCsA = parallelize(sA, thr, threadIdx.x, {1, _})
    local tCsB = parallelize(sB, thr, threadIdx.x, {_, 1})
    local tCgC = parallelize(tile(C, {bM, bN}, {blockIdx.x, blockIdx.y}), thr, threadIdx.x)
    local tCrA, tCrB, tCrC = fragment(f32, {4, bK}), fragment(f32, {4, bK}), fragment_like(tCgC)
    clear(tCrC)
    local p = {stages = form.stages, blocks = form.blocks, parts = form.parts}
    if form.store then
      p.load = function(k) copy(tAgA(_, _, k), tArA) copy(tBgB(_, _, k), tBrB) end
      p.store = function(slot) copy(tArA, tAsA(_, _, slot)) copy(tBrB, tBsB(_, _, slot)) end
    else
      p.load = function(k, slot, part)
        if part == 0 then copy(tAgA(_, _, k), tAsA(_, _, slot)) end
        if part == (form.parts or 1) - 1 then copy(tBgB(_, _, k), tBsB(_, _, slot)) end
      end
    end
    if form.blocks then
      p.fetch = function(block, slot)
        copy(tCsA(_, block, slot), tCrA(_, block))
        copy(tCsB(_, block, slot), tCrB(_, block))
      end
      p.compute = function(block) gemm(tCrA(_, block), tCrB(_, block), tCrC) end
    else
      p.compute = function(slot) gemm(tCsA(_, _, slot), tCsB(_, _, slot), tCrC) end
    end
    pipeline(form.n or size(tAgA, 2), p)
    copy(tCrC, tCgC)
  end)
end

local forms = {
  {}, {stages = 3}, {stages = 4},
  {store = true}, {store = true, stages = 2}, {store = true, stages = 3},
  {blocks = bK}, {blocks = bK, stages = 3, parts = 2}, {blocks = bK, stages = 4, parts = bK - 1},
  {blocks = bK, store = true}, {blocks = bK, store = true, stages = 3},
}
local n_wrong = 0
local function check(form, K)
  local A, B, C = rand(f32, {64, K}), rand(f32, {64, K}), full(f32, {64, 64}, -1)
  matmul(form){grid = {2, 2}, block = 64}(A, B, C)
  local ok, worst = allclose(C, reference.matmul(A, B))
  if not ok then
    n_wrong = n_wrong + 1
    print(K, form.stages, form.blocks, form.parts, form.store, worst)
  end
end
for _, form in ipairs(forms) do
  for _, K in ipairs{8, 24, 40, 72} do check(form, K) end
end
check({stages = 3, n = 1}, 8)
check({stages = 3, n = 5, blocks = bK}, 40)
print(#forms, n_wrong)  -- expect: 11	0

-- No tile at all: nothing is loaded, and C is 0.
local C = full(f32, {64, 64}, -1)
for _, form in ipairs{forms[2], forms[4], forms[8]} do
  matmul(form){grid = {2, 2}, block = 64}(zeros(f32, {64, 0}), zeros(f32, {64, 0}), C)
  print(allclose(C, zeros(f32, {64, 64})))
end
-- expect: true
-- expect: true
-- expect: true
