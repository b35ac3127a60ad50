-- Why an access is not wider, and what to write instead.
device("cpu")
local function reasons(f)
  for _, line in ipairs(profile(f).kernels[1].lines) do
    for _, a in ipairs(line.accesses) do
      if a.op == "load" and a.space == "global" then
        print(("%dx%s, %s: %s; %s"):format(a.vec, a.dtype, a.why, a.reason, a.fix or "-"))
      end
    end
  end
end

-- Rows of a thread copied to registers, 8 of each.
local function rows(shape, stride, guarded, n)
  n = n or 8
  local A = tensor(f32, layout(shape, stride))
  fill(A, 0)
  local k = kernel("rows", function(A)
    local t = guarded and guard(A) or A
    local r = fragment(f32, layout(n))
    copy(tile(t, {n, 1}, {blockIdx.x, threadIdx.x})(_, 0), r)
  end)
  return function() k{grid = 1, block = 4}(A) end
end
reasons(rows({8, 4}, {1, 8}))   -- expect: 4xf32, widest: 16 bytes, the most that one instruction accesses; -
reasons(rows({8, 4}, {1, 10}))  -- expect: 2xf32, offset: the part of A begins at an offset that is not known to be a multiple of 4; tile A by multiples of 4, and let threads begin at multiples of 4
reasons(rows({8, 4}, {4, 1}))   -- expect: 1xf32, common: the element that a thread accesses next is not the next one of A; let a thread access 4 consecutive elements of A: a value layout of stride 1 there (tv_layout); max_common_vector shows how many two layouts allow
reasons(rows({6, 4}, {1, 8}, false, 6)) -- expect: 2xf32, size: a thread's number of elements is not a multiple of 4; give each thread a multiple of 4 elements
reasons(rows({7, 4}, {1, 8}, true)) -- expect: 1xf32, guard: the guard of A may end within a vector; make the guarded extent a multiple of 2, or copy whole tiles without the guard

-- An element at a time; a static stride; narrow elements that are widened.
local scalar = kernel("scalar", function(A) A[threadIdx.x] = A[threadIdx.x] + 1.0 end)
reasons(function() scalar{grid = 1, block = 32}(zeros(f32, 32)) end) -- expect: 1xf32, scalar: the script indexes A element by element; copy a whole tile or partition of A with copy()
local multiple = kernel("multiple", function(A)
  local r = fragment(f32, layout{4, 2})
  copy(A(_, _), r)
end, {static_shapes = true})
local B = tensor(f32, layout({4, 2}, {1, 5}))
fill(B, 0)
reasons(function() multiple{grid = 1, block = 32}(B) end) -- expect: 1xf32, multiple: a static stride of A is not a multiple of 2; pad A by a multiple of 2 elements
local widened = kernel("widened", function(A)
  local r = fragment(f32, layout(8))
  copy(A, r)
end, {static_shapes = true})
reasons(function() widened{grid = 1, block = 32}(zeros(f16, 8)) end) -- expect: 1xf16, converts: the elements are widened on the way; copy them first, and cast in registers

-- Two columns of a thread, whose distance the launch gives.
local columns = kernel("columns", function(A)
  local r = fragment(f32, layout{4, 2})
  copy(tile(A, {4, 2}, {0, blockIdx.x}), r)
end)
local C = tensor(f32, layout({4, 2}, {1, 6}))
fill(C, 0)
reasons(function() columns{grid = 1, block = 1}(C) end) -- expect: 2xf32, stride: a run-time stride of A is not known to be a multiple of 4; make the extent that it comes from a multiple of 4 (pad the tensor), or use static_shapes = true

-- Together: the losses first, one entry for what is said of several accesses, once for both sides of a copy.
local turn = kernel("turn", function(A, B)
  local s = shared(f32, {32, 32})
  local x, y = threadIdx.x, threadIdx.y
  s[{y, x}] = A[{x, y}]
  sync_threads()
  copy(parallelize(s, layout{32, 8}, x + 32 * y), parallelize(B, layout({32, 8}), x + 32 * y))
  B[{y, x}] = s[{x, y}]
end, {static_shapes = true})
local D, E = zeros(f32, {32, 32}), zeros(f32, {32, 32})
local p = profile(turn:prepare{grid = 1, block = {32, 8}}(D, E))
print(table.concat(require "cuttle.profile_advice".all(p.kernels[1]), "\n"))
-- expect: line 60, store s: lanes meet in a bank of s; pad its stride or swizzle it: find_swizzle shows how
-- expect: line 63, store B: neighbouring lanes are far apart in B; let them access neighbouring elements
-- expect: line 60, load A, store s; line 63, load s, store B: no wider, because the script indexes the tensor element by element; copy a whole tile or partition of the tensor with copy()
-- expect: line 62, load s: no wider, because the element that a thread accesses next is not the next one of s; let a thread access 4 consecutive elements of s: a value layout of stride 1 there (tv_layout); max_common_vector shows how many two layouts allow

-- What a copy atom takes.
local function by_atom(name)
  local tc = tiled_copy(atom(name, f32), layout{4, 8}, layout{4, 1})
  local k = kernel("by_atom", function(A)
    local gA = tc:get_slice(threadIdx.x):partition_S(tile(A, {16, 8}, {0, 0}))
    local r = fragment_like(gA)
    copy(tc, gA, r)
  end)
  return function() k{grid = 1, block = 32}(zeros(f32, {16, 8})) end
end
reasons(by_atom("UniversalCopy<u128>")) -- expect: 4xf32, widest: 16 bytes, the most that one instruction accesses; -
reasons(by_atom("UniversalCopy<u32>"))  -- expect: 1xf32, atom: the copy atom accesses that many; use a wider atom if the layouts allow it

-- ldmatrix takes rows of 16 bytes.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
local ldsm = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma)
local matrices = kernel("matrices", function()
  local s = shared(f16, row_major{16, 16})
  fill(s, 0)
  sync_threads()
  local mine, r = ldsm:get_slice(threadIdx.x), mma:get_slice(threadIdx.x):partition_fragment_A(s)
  copy(ldsm, mine:partition_S(s), mine:retile_D(r))
end)
for _, line in ipairs(profile(function() matrices{grid = 1, block = 32}() end).kernels[1].lines) do
  for _, a in ipairs(line.accesses) do
    if a.op == "load" then print(a.vec, a.why) end -- expect: 8	widest
  end
end
