-- rows.lua: each row of a matrix by itself: reductions, norms, losses, a scan.
local t = dofile "tests/judge/texts.lua"

local function per_row(f)
  return function(x, ...)
    for i = 0, size(x, 0) - 1 do f(i, size(x, 1), x, ...) end
  end
end

local function task(name, fields, race)
  fields.name, fields.sizes = name, { M = { 1, 7 }, N = { 1, 150 } }
  fields.inputs = fields.inputs or { { "x", f32, "M,N" } }
  fields.outputs = fields.outputs or { { "y", f32, "M" } }
  return t.rows_faults(fields, race)
end

-- A reduction whose result thread 0 writes.
local first <const> = { "if threadIdx.x == 0 then y[row] = all end",
  "y[row] = all + min(threadIdx.x, 1)" }
-- All threads of a block write the elements of a row.
local same <const> = { "y[{row, j}] =", "y[{row, j // 2}] =" }

local function reduction(name, output, reference, init, step, op, last)
  return task(name, { outputs = { { "y", output, "M" } }, reference = per_row(reference),
    right = t.rows("x, y", ([[local all = %s
  for j = threadIdx.x, n - 1, blockDim.x do all = %s end
  all = block_reduce(all, "%s")%s
  if threadIdx.x == 0 then y[row] = all end]]):format(init, step, op, last or "")) }, first)
end

local function sum_of(x, i, n, f)
  local sum = 0.0
  for j = 0, n - 1 do sum = sum + (f and f(x[{ i, j }]) or x[{ i, j }]) end
  return sum
end

local function most_of(x, i, n)
  local most = -math.huge
  for j = 0, n - 1 do most = math.max(most, x[{ i, j }]) end
  return most
end

local SUM <const> = [[local sum = f32(0)
  for j = threadIdx.x, n - 1, blockDim.x do sum = sum + %s end
  sum = block_reduce(sum, "add")
]]
local MOST <const> = [[local most = f32(-1 / 0)
  for j = threadIdx.x, n - 1, blockDim.x do most = max(most, x[{row, j}]) end
  most = block_reduce(most, "max")
]]
local EACH <const> = "  for j = threadIdx.x, n - 1, blockDim.x do y[{row, j}] = %s end"
local whole <const> = { { "y", f32, "M,N" } }

return {
  reduction("row sums", f32, function(i, n, x, y) y[i] = sum_of(x, i, n) end, "f32(0)",
    "all + x[{row, j}]", "add"),
  reduction("row maxima", f32, function(i, n, x, y) y[i] = most_of(x, i, n) end, "f32(-1 / 0)",
    "max(all, x[{row, j}])", "max"),
  reduction("row norms", f32, function(i, n, x, y)
    y[i] = math.sqrt(sum_of(x, i, n, function(v) return v * v end))
  end, "f32(0)", "all + x[{row, j}] * x[{row, j}]", "add", "\n  all = sqrt(all)"),
  task("argmax", { outputs = { { "y", i32, "M" } },
    reference = per_row(function(i, n, x, y)
      local best = 0
      for j = 1, n - 1 do
        if x[{ i, j }] > x[{ i, best }] then best = j end
      end
      y[i] = best
    end),
    right = t.rows("x, y", MOST .. [[
  local all = n - 0
  for j = threadIdx.x, n - 1, blockDim.x do
    if x[{row, j}] == most then all = min(all, j) end
  end
  all = block_reduce(all, "min")
  if threadIdx.x == 0 then y[row] = all end]]) }, first),
  task("softmax", { outputs = whole,
    reference = per_row(function(i, n, x, y)
      local most = most_of(x, i, n)
      local sum = sum_of(x, i, n, function(v) return math.exp(v - most) end)
      for j = 0, n - 1 do y[{ i, j }] = math.exp(x[{ i, j }] - most) / sum end
    end),
    right = t.rows("x, y", MOST .. "  " .. SUM:format "exp(x[{row, j}] - most)"
      .. EACH:format "exp(x[{row, j}] - most) / sum") }, same),
  task("log softmax", { outputs = whole,
    reference = per_row(function(i, n, x, y)
      local most = most_of(x, i, n)
      local sum = sum_of(x, i, n, function(v) return math.exp(v - most) end)
      for j = 0, n - 1 do y[{ i, j }] = x[{ i, j }] - most - math.log(sum) end
    end),
    right = t.rows("x, y", MOST .. "  " .. SUM:format "exp(x[{row, j}] - most)"
      .. EACH:format "x[{row, j}] - most - log(sum)") }, same),
  task("RMS norm", { inputs = { { "x", f32, "M,N", order = "any" }, { "w", f32, "N" } },
    outputs = { { "y", f32, "M,N", order = "any" } },
    reference = per_row(function(i, n, x, w, y)
      local mean = sum_of(x, i, n, function(v) return v * v end) / n
      for j = 0, n - 1 do y[{ i, j }] = x[{ i, j }] / math.sqrt(mean + 1e-5) * w[j] end
    end),
    right = t.rows("x, w, y", SUM:format "x[{row, j}] * x[{row, j}]"
      .. "  local scale = rsqrt(sum / n + 1e-5)\n" .. EACH:format "x[{row, j}] * scale * w[j]") },
    same),
  task("layer norm", { outputs = whole,
    reference = per_row(function(i, n, x, y)
      local mean = sum_of(x, i, n) / n
      local spread = sum_of(x, i, n, function(v) return (v - mean) ^ 2 end) / n
      for j = 0, n - 1 do y[{ i, j }] = (x[{ i, j }] - mean) / math.sqrt(spread + 1e-3) end
    end),
    right = t.rows("x, y", SUM:format "x[{row, j}]" .. [[
  local mean, spread = sum / n, f32(0)
  for j = threadIdx.x, n - 1, blockDim.x do
    spread = spread + (x[{row, j}] - mean) * (x[{row, j}] - mean)
  end
  local scale = rsqrt(block_reduce(spread, "add") / n + 1e-3)
]] .. EACH:format "(x[{row, j}] - mean) * scale") }, same),
  task("running sums", { outputs = whole,
    reference = per_row(function(i, n, x, y)
      local sum = 0.0
      for j = 0, n - 1 do
        sum = sum + x[{ i, j }]
        y[{ i, j }] = sum
      end
    end),
    right = t.rows("x, y", [[local before = f32(0)
  for at = 0, n - 1, blockDim.x do
    local j = at + threadIdx.x
    local v = f32(0)
    if j < n then v = x[{row, j}] end
    local sum = block_scan(v, "add")
    if j < n then y[{row, j}] = before + sum end
    before = before + block_reduce(v, "add")
  end]]),
    outside = { "if j < n then y", "if j <= n then y" } }, same),
  task("cross entropy", {
    inputs = { { "x", f32, "M,N" }, { "target", i32, "M", values = { 0, "N-1" } } },
    reference = per_row(function(i, n, x, target, y)
      local most = most_of(x, i, n)
      local sum = sum_of(x, i, n, function(v) return math.exp(v - most) end)
      y[i] = most + math.log(sum) - x[{ i, target[i] }]
    end),
    right = t.rows("x, target, y", MOST .. "  " .. SUM:format "exp(x[{row, j}] - most)"
      .. "  local all = most + log(sum) - x[{row, target[row]}]\n"
      .. "  if threadIdx.x == 0 then y[row] = all end") }, first),
  task("quantise rows", {
    outputs = { { "q", i8, "M,N", tolerance = { atol = 1 } }, { "y", f32, "M" } },
    reference = per_row(function(i, n, x, q, y)
      local most = 1e-20
      for j = 0, n - 1 do most = math.max(most, math.abs(x[{ i, j }])) end
      for j = 0, n - 1 do q[{ i, j }] = math.floor(x[{ i, j }] / most * 127 + 0.5) end
      y[i] = most / 127
    end),
    right = t.rows("x, q, y", [[local most = f32(1e-20)
  for j = threadIdx.x, n - 1, blockDim.x do most = max(most, abs(x[{row, j}])) end
  most = block_reduce(most, "max")
  for j = threadIdx.x, n - 1, blockDim.x do
    q[{row, j}] = cast(floor(x[{row, j}] / most * 127 + 0.5), i8)
  end
  local all = most / 127
  if threadIdx.x == 0 then y[row] = all end]]) }, first),
}
