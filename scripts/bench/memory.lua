-- memory.lua: benchmarks of kernels that memory bounds: a transpose, a sum, softmax and layer
-- norm of rows. Each is checked, and its bandwidth is a ratio to that of the device's copy in the
-- same run: bytes read for the sum, bytes read once and written once for the others.
local ct = require "cuttle"
local threadIdx, blockIdx, gridDim = ct.threadIdx, ct.blockIdx, ct.gridDim
local layout, view, tile, fragment = ct.layout, ct.view, ct.tile, ct.fragment
local select_modes, composition, swizzle = ct.select, ct.composition, ct.swizzle
local copy, clear, size, range = ct.copy, ct.clear, ct.size, ct.range
local reduce, transform, block_reduce = ct.reduce, ct.transform, ct.block_reduce
local shared, sync_threads, fence, atomic_add = ct.shared, ct.sync_threads, ct.fence, ct.atomic_add
local exp, rsqrt, f32 = ct.fast.exp, ct.rsqrt, ct.f32
local _ = ct._
local M = {}

-- Blocks that stay: four 16-byte reads in flight; the block that finishes last sums the blocks.
local function sum_kernel(n_threads)
  local turn = layout{4, n_threads, 4}
  return ct.kernel("sum", function(x, partial, done, result)
    local t = threadIdx.x
    local r, acc, is_last = fragment(f32, {4, 4}), fragment(f32, 4), shared(ct.bool, 1)
    clear(acc)
    for k in range(blockIdx.x, size(x) // size(turn), gridDim.x) do
      copy(view(tile(x, size(turn), k), turn)(_, t, _), r)
      for j = 0, 3 do acc[j] = acc[j] + ((r[{0, j}] + r[{1, j}]) + (r[{2, j}] + r[{3, j}])) end
    end
    local all = block_reduce(reduce(acc, "add"), "add")
    if t == 0 then
      partial[blockIdx.x] = all
      fence()
      is_last[0] = atomic_add(done, 0, 1) == gridDim.x - 1
    end
    sync_threads()
    if is_last[0] then
      fence()
      local mine = 0.0
      for i in range(t, gridDim.x, n_threads) do mine = mine + partial[i] end
      local total = block_reduce(mine, "add")
      if t == 0 then
        result[0] = total
        done[0] = 0
      end
    end
  end)
end

-- The last step of examples/transpose.lua, which says why.
local transpose_kernel = ct.kernel("transpose", function(A, B)
  local gA = tile(A, {64, 64}, {blockIdx.y, blockIdx.x})
  local gB = tile(B, {64, 64}, {blockIdx.x, blockIdx.y})
  local s = shared(A.dtype, composition(swizzle(3, 2, 6), layout{64, 64}))
  local i, j = threadIdx.x % 16, threadIdx.x // 16
  local r = fragment(A.dtype, {4, 4})
  copy(tile(gA, {4, 4}, {i, j}), r)
  copy(select_modes(r, 1, 0), tile(s, {4, 4}, {j, i}))
  sync_threads()
  copy(tile(s, {4, 4}, {i, j}), tile(gB, {4, 4}, {i, j}))
end)

-- A row of 4 * n_threads * n_deep floats per block, read and written once.
local function row_kernel(name, n_threads, n_deep, normalise)
  local parts = layout{4, n_threads, n_deep}
  return ct.kernel(name, function(x, y)
    local tiler, at = {size(parts), 1}, {0, blockIdx.x}
    local r = fragment(f32, {4, n_deep})
    copy(view(tile(x, tiler, at), parts)(_, threadIdx.x, _), r)
    normalise(r, size(parts))
    copy(r, view(tile(y, tiler, at), parts)(_, threadIdx.x, _))
  end)
end

local function softmax(r)
  local top = block_reduce(reduce(r, "max"), "max")
  transform(r, function(v) return exp(v - top) end)
  local scale = 1.0 / block_reduce(reduce(r, "add"), "add")
  transform(r, function(v) return v * scale end)
end

local EPSILON <const> = 1e-5
local function layer_norm(r, n)
  local mean = block_reduce(reduce(r, "add"), "add") * (1.0 / n)
  transform(r, function(v) return v - mean end)
  local squares = reduce(r, function(sum, v) return sum + v * v end, 0.0)
  local scale = rsqrt(block_reduce(squares, "add") * (1.0 / n) + EPSILON)
  transform(r, function(v) return v * scale end)
end

local function say(fmt, ...) print(fmt:format(...)) end

local function report(name, bytes, ms, bandwidth, ok, info)
  say("%s: %.4f ms, %.3f TB/s = %.3f of the device copy (%.3f TB/s), %s; %d registers", name, ms,
    bytes / ms * 1e-9, bytes / ms * 1e3 / bandwidth, bandwidth * 1e-12, ok and "correct" or "WRONG",
    info.registers or 0)
end

function M.sum(bandwidth, n)
  n = n or 1 << 30
  for _, shape in ipairs{{1024, 2}, {512, 4}} do
    local n_threads = shape[1]
    local n_blocks = shape[2] * (ct.device().n_sms or 8)
    local x, partial = ct.rand(f32, n), ct.zeros(f32, n_blocks)
    local done, result = ct.zeros(ct.i32, 1), ct.zeros(f32, 1)
    local config = sum_kernel(n_threads){grid = n_blocks, block = n_threads}
    local function launch() config(x, partial, done, result) end
    launch()
    local ok = math.abs(result[0] / n - 0.5) < 6 * (12 * n) ^ -0.5 -- deviations of the mean
    report(("sum of %d, %d x %d threads"):format(n, n_blocks, n_threads), 4 * n, ct.bench(launch),
      bandwidth, ok, config:info(x, partial, done, result))
    x:close()
  end
end

function M.transpose(bandwidth, n)
  n = n or 16384
  local A, B = ct.rand(f32, {n, n}), ct.zeros(f32, {n, n})
  local config = transpose_kernel{grid = {n // 64, n // 64}, block = 256}
  config(A, B)
  local ok = ct.allclose(B, view(A, layout({n, n}, {n, 1})), {rtol = 0, atol = 0})
  report(("transpose %d^2"):format(n), 8 * n * n, ct.bench(function() config(A, B) end), bandwidth,
    ok, config:info(A, B))
  A:close()
  B:close()
end

-- Some rows against double precision on the host.
local function check_rows(x, y, columns, rows, expected)
  local worst = 0.0
  for _, row in ipairs{0, rows // 2, rows - 1} do
    local one, other = ct.zeros(f32, {columns, 1}), ct.zeros(f32, {columns, 1})
    copy(tile(x, {columns, 1}, {0, row}), one)
    copy(tile(y, {columns, 1}, {0, row}), other)
    local want, got = expected(one:totable()), other:totable()
    for i = 1, columns do
      local a = got[i]
      if type(a) == "table" then a = a[1] end
      worst = math.max(worst, math.abs(a - want[i]))
    end
  end
  return worst
end

local function numbers(t)
  local out = {}
  for i, v in ipairs(t) do out[i] = type(v) == "table" and v[1] or v end
  return out
end

local function expected_softmax(t)
  local v, top, sum = numbers(t), -math.huge, 0.0
  for i = 1, #v do top = math.max(top, v[i]) end
  for i = 1, #v do
    v[i] = math.exp(v[i] - top)
    sum = sum + v[i]
  end
  for i = 1, #v do v[i] = v[i] / sum end
  return v
end

local function expected_layer_norm(t)
  local v, mean, squares = numbers(t), 0.0, 0.0
  for i = 1, #v do mean = mean + v[i] / #v end
  for i = 1, #v do squares = squares + (v[i] - mean) ^ 2 / #v end
  for i = 1, #v do v[i] = (v[i] - mean) / math.sqrt(squares + EPSILON) end
  return v
end

local function bench_rows(name, kernel, n_threads, expected, tolerance, bandwidth,
                          rows)
  local columns = 8192
  rows = rows or columns
  local x, y = ct.randn(f32, {columns, rows}), ct.zeros(f32, {columns, rows})
  local config = kernel{grid = rows, block = n_threads}
  config(x, y)
  local ok = check_rows(x, y, columns, rows, expected) < tolerance
  local ms = ct.bench(function() config(x, y) end)
  report(("%s %dx%d"):format(name, rows, columns), 8 * rows * columns, ms, bandwidth, ok,
    config:info(x, y))
  x:close()
  y:close()
end

local function softmax_kernel() return row_kernel("softmax", 512, 4, softmax) end
local function layer_norm_kernel() return row_kernel("layer_norm", 1024, 2, layer_norm) end

function M.softmax(bandwidth, rows)
  bench_rows("softmax", softmax_kernel(), 512, expected_softmax, 1e-6, bandwidth, rows)
end

function M.layer_norm(bandwidth, rows)
  bench_rows("layer norm", layer_norm_kernel(), 1024, expected_layer_norm, 1e-4, bandwidth, rows)
end

--- The kernels of rows, for scripts/fingerprints.lua: {name, launch, arguments...} each.
function M.kernels()
  local x, y = ct.zeros(f32, {8192, 2}), ct.zeros(f32, {8192, 2})
  return {
    { "softmax", softmax_kernel(){grid = 2, block = 512}, x, y },
    { "layer_norm", layer_norm_kernel(){grid = 2, block = 1024}, x, y },
  }
end

return M
