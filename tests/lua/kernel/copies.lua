-- copy between all pairs of spaces, contiguous and strided, of every element size, whole or in
-- parts; each is compared with plain Lua. Threads work on parts of 8 elements each. All layouts of one
-- element type and pair of spaces are copied in one kernel, as kernels take a compiler long.
local sorted = dofile "tests/support/sorted.lua"
local THREADS <const>, PART <const> = 4, 8

-- How a thread's part lies in memory of THREADS * PART elements: contiguous (vectors), interleaved,
-- with padding, backwards in two modes.
local shapes = {
  contiguous = layout{PART, THREADS},
  interleaved = layout({PART, THREADS}, {THREADS, 1}),
  padded = layout({PART, THREADS}, {1, PART + 1}),
  pairs = layout({{2, 4}, THREADS}, {{1, 2 * THREADS}, 2}),
  quads = layout({{4, 2}, THREADS}, {{1, 4 * THREADS}, 4}),
}
local spaces = {"global", "shared", "register"}
local value = {
  [f32] = function(i) return i * 0.5 end,
  [f64] = function(i) return i * 0.25 end,
  [i32] = function(i) return i * 3 end,
  [i64] = function(i) return i << 33 end,
  [bool] = function(i) return i % 3 == 0 end,
}

local n_run, n_wrong = 0, 0
local function compare(dtype, case, from, to)
  local src, dst = case.src, case.dst
  local a, b = view(case.A, src), view(case.B, dst)
  n_run = n_run + 1
  for i = 0, THREADS - 1 do
    for j = 0, PART - 1 do
      if a[{j, i}] ~= b[{j, i}] then
        n_wrong = n_wrong + 1
        print(("%s from %s %s to %s %s: element (%d,%d) is %s, expected %s"):format(
          dtype, from, src, to, dst, j, i, b[{j, i}], a[{j, i}]))
        return
      end
    end
  end
end

-- Copies from a tensor of each case in `from`, and to one in `to`.
local function check(dtype, from, to, cases)
  local tensors = {}
  for c, case in ipairs(cases) do
    local n = cosize(case.src)
    case.A, case.B = zeros(dtype, n), zeros(dtype, cosize(case.dst))
    for i = 0, n - 1 do case.A[i] = value[dtype](i + 1) end
    tensors[c], tensors[#cases + c] = case.A, case.B
  end
  kernel(function(...)
    local t, i = {...}, threadIdx.x
    local function part(space, l, whole)
      if space == "global" then return view(whole, l)(_, i) end
      if space == "shared" then return shared(dtype, l)(_, i) end
      return fragment(dtype, l(_, 0))
    end
    for c, case in ipairs(cases) do
      local A, B = t[c], t[#cases + c]
      local a, b = part(from, case.src, A), part(to, case.dst, B)
      if from ~= "global" then
        for j = 0, PART - 1 do a[j] = view(A, case.src)(j, i) end
      end
      copy(a, b)
      sync_threads() -- before that a copy to shared memory may be under way
      if to ~= "global" then
        for j = 0, PART - 1 do view(B, case.dst)[{j, i}] = b[j] end
      end
    end
  end){grid = 1, block = THREADS}(table.unpack(tensors))
  for _, case in ipairs(cases) do compare(dtype, case, from, to) end
end

for dtype in sorted(value) do
  local cases = {}
  for name, src in sorted(shapes) do
    for other, dst in sorted(shapes) do
      if name == other or dtype == f32 then cases[#cases + 1] = {src = src, dst = dst} end
    end
  end
  for _, from in ipairs(spaces) do
    for _, to in ipairs(spaces) do check(dtype, from, to, cases) end
  end
end
print(n_run, n_wrong) -- expect: 405	0

-- Run-time strides and extents: tiles of a matrix either way, through shared memory.
local function transpose(m, n, src, dst)
  local A, B = zeros(f32, src), zeros(f32, dst)
  for i = 0, m - 1 do for j = 0, n - 1 do A[{i, j}] = i * 100 + j end end
  kernel("transpose", function(A, B)
    local s = shared(f32, layout({8, 8}, {1, 9}))
    local gA = tile(A, {8, 8}, {blockIdx.x, blockIdx.y})
    local gB = tile(B, {8, 8}, {blockIdx.y, blockIdx.x})
    local thr = layout{8, 4}
    copy(parallelize(gA, thr, threadIdx.x), parallelize(s, thr, threadIdx.x))
    sync_threads()
    local st = composition(s, "(8,8):(8,1)")
    copy(parallelize(st, thr, threadIdx.x), parallelize(gB, thr, threadIdx.x))
  end){grid = {m // 8, n // 8}, block = 32}(A, B)
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      if B[{j, i}] ~= A[{i, j}] then return print(m, n, i, j, B[{j, i}], A[{i, j}]) end
    end
  end
  print "same"
end
transpose(16, 24, layout{16, 24}, layout{24, 16})               -- expect: same
transpose(16, 24, row_major{16, 24}, layout{24, 16})            -- expect: same
transpose(24, 8, layout({24, 8}, {1, 29}), row_major{8, 24})    -- expect: same
transpose(8, 24, layout({8, 24}, {50, 2}), layout({24, 8}, {1, 25})) -- expect: same

-- Parts that a thread reads from everywhere: broadcast strides of 0.
local bias, out = zeros(f32, 4), zeros(f32, {4, 8})
for i = 0, 3 do bias[i] = i + 0.5 end
local copy_all = kernel("copy_all", function(a, b) copy(a, b) end, {static_shapes = true})
copy_all{grid = 1, block = 1}(view(bias, layout({4, 8}, {1, 0})), out)
print(out[{0, 7}], out[{3, 0}])                                 -- expect: 0.5	3.5

-- Backwards, by coordinates: a kernel's tensor has no negative strides.
local f, back = zeros(f32, 8), zeros(f32, 8)
for i = 0, 7 do f[i] = i end
kernel("backwards", function(a, b) copy(a, view(tile(b, 1, 7), layout({8}, {-1}))) end,
  {static_shapes = true}){grid = 1, block = 1}(f, back)
print(back[0], back[7])                                         -- expect: 7.0	0.0
