-- counts.lua: results that many threads add to or that depend on the data: histograms, segments,
-- sums over everything, updates in place.
local t = dofile "tests/judge/texts.lua"

local histogram = t.each_faults({
  name = "histogram", sizes = { N = { 1, 300 } },
  inputs = { { "x", i32, "N", values = { 0, 15 } } }, outputs = { { "y", i32, "16" } },
  reference = function(x, y)
    for i = 0, size(x) - 1 do y[x[i]] = y[x[i]] + 1 end
  end,
  right = [[
local zero = kernel("zero", function(y) y[threadIdx.x] = 0 end)
local k = kernel("histogram", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then atomic_add(y, x[i], 1) end
end)
return function(x, y)
  zero{grid = 1, block = 16}(y)
  k{grid = cdiv(size(x), 64), block = 64}(x, y)
end
]] }, "x")
histogram.race = { "atomic_add(y, x[i], 1)", "y[x[i]] = y[x[i]] + 1" }

-- Sums of what lies between offsets, which one warp each adds up.
local segments = {
  name = "sums of segments", sizes = { S = { 1, 12 }, L = { 1, 40 } },
  inputs = { { "x", f32, "S*L" },
    { "ends", i32, "S", values = function(i, sizes) return (i + 1) * sizes.L - i % 2 end } },
  outputs = { { "y", f32, "S" } },
  reference = function(x, ends, y)
    for s = 0, size(y) - 1 do
      local sum = 0.0
      for j = s == 0 and 0 or ends[s - 1], ends[s] - 1 do sum = sum + x[j] end
      y[s] = sum
    end
  end,
  right = [[
local k = kernel("segments", function(x, ends, y)
  local s, from = blockIdx.x, i32(0)
  if s > 0 then from = ends[s - 1] end
  local sum = f32(0)
  for j = from + threadIdx.x, ends[s] - 1, 32 do sum = sum + x[j] end
  sum = warp_reduce(sum, "add")
  if threadIdx.x == 0 then y[s] = sum end
end)
return function(x, ends, y) k{grid = size(y), block = 32}(x, ends, y) end
]],
  wrong = { "ends[s] - 1, 32", "ends[s] - 2, 32" },
  race = { "if threadIdx.x == 0 then y[s] = sum end", "y[s] = sum + threadIdx.x" },
  outside = { "ends[s] - 1, 32", "ends[s] + 31, 32" },
}

local mean_square = {
  name = "mean squared error", sizes = { N = { 1, 300 } },
  inputs = { { "x", f32, "N" }, { "z", f32, "N" } }, outputs = { { "y", f32, "1" } },
  reference = function(x, z, y)
    local sum = 0.0
    for i = 0, size(x) - 1 do sum = sum + (x[i] - z[i]) ^ 2 end
    y[0] = sum / size(x)
  end,
  right = [[
local k = kernel("mse", function(x, z, y)
  local sum = f32(0)
  for i = threadIdx.x, size(x) - 1, blockDim.x do
    local d = x[i] - z[i]
    sum = sum + d * d
  end
  sum = block_reduce(sum, "add")
  if threadIdx.x == 0 then y[0] = sum / size(x) end
end)
return function(x, z, y) k{grid = 1, block = 128}(x, z, y) end
]],
  wrong = { "size(x) - 1, blockDim.x", "size(x) - 2, blockDim.x" },
  race = { "if threadIdx.x == 0 then y[0] = sum / size(x) end", "y[0] = sum + threadIdx.x" },
  outside = { "size(x) - 1, blockDim.x", "size(x), blockDim.x" },
}

local momentum = t.each_faults({
  name = "step with momentum", sizes = { N = { 1, 300 } },
  inputs = { { "g", f32, "N" }, { "rate", 0.1 } },
  outputs = { { "m", f32, "N", values = { -1, 1 } }, { "p", f32, "N", values = { -1, 1 } } },
  reference = function(g, rate, m, p)
    for i = 0, size(p) - 1 do
      m[i] = 0.9 * m[i] + g[i]
      p[i] = p[i] - rate * m[i]
    end
  end,
  right = t.each("g, rate, m, p", "p",
    "m[i] = 0.9 * m[i] + g[i]\n    p[i] = p[i] - rate * m[i]"),
}, "p")

local bags = {
  name = "sums of embeddings", sizes = { V = { 1, 20 }, D = { 1, 60 }, B = { 1, 9 }, L = { 1, 6 } },
  inputs = { { "x", f32, "V,D" }, { "at", i32, "B,L", values = { 0, "V-1" } } },
  outputs = { { "y", f32, "B,D" } },
  reference = function(x, at, y)
    for b = 0, size(y, 0) - 1 do
      for j = 0, size(y, 1) - 1 do
        local sum = 0.0
        for l = 0, size(at, 1) - 1 do sum = sum + x[{ at[{ b, l }], j }] end
        y[{ b, j }] = sum
      end
    end
  end,
  right = t.pairs("x, at, y", "y", [[
local sum = f32(0)
    for l = 0, size(at, 1) - 1 do sum = sum + x[{at[{i, l}], j}] end
    y[{i, j}] = sum]]),
}

return { histogram, segments, mean_square, momentum, t.pairs_faults(bags, "y") }
