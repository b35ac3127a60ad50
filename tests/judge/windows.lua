-- windows.lua: each element of the result from a neighbourhood: convolution, pooling, stencils.
local t = dofile "tests/judge/texts.lua"

local function task(name, fields, value, body)
  fields.name = name
  fields.sizes = fields.sizes or { M = { 1, 20 }, N = { 1, 70 } }
  fields.reference = function(...)
    local list = { ... }
    local y = list[#list]
    for i = 0, size(y, 0) - 1 do
      for j = 0, size(y, 1) - 1 do y[{ i, j }] = value(i, j, table.unpack(list)) end
    end
  end
  local args = {}
  for i, row in ipairs(fields.inputs) do args[i] = row[1] end
  args[#args + 1] = "y"
  fields.right = t.pairs(table.concat(args, ", "), "y", body)
  return t.pairs_faults(fields, "y")
end

local function window(i, j, x, n, step, f, first)
  local all = first
  for a = 0, n - 1 do
    for b = 0, n - 1 do all = f(all, x[{ i * step + a, j * step + b }], a, b) end
  end
  return all
end

local conv1d = t.each_faults({
  name = "convolution of a line", sizes = { N = { 1, 200 } },
  inputs = { { "x", f32, "N+4" }, { "w", f32, "5" } }, outputs = { { "y", f32, "N" } },
  reference = function(x, w, y)
    for i = 0, size(y) - 1 do
      local sum = 0.0
      for k = 0, 4 do sum = sum + x[i + k] * w[k] end
      y[i] = sum
    end
  end,
  right = t.each("x, w, y", "y",
    "local sum = f32(0)\n    for p = 0, 4 do sum = sum + x[i + p] * w[p] end\n    y[i] = sum"),
}, "y")

local image <const> = { { "x", f32, "M+2,N+2" } }

return {
  conv1d,
  task("convolution 3x3", { inputs = { image[1], { "w", f32, "3,3" } },
    outputs = { { "y", f32, "M,N" } } }, function(i, j, x, w)
    return window(i, j, x, 3, 1, function(s, v, a, b) return s + v * w[{ a, b }] end, 0.0)
  end, [[
local sum = f32(0)
    for a = 0, 2 do
      for b = 0, 2 do sum = sum + x[{i + a, j + b}] * w[{a, b}] end
    end
    y[{i, j}] = sum]]),
  task("max pooling", { inputs = { { "x", f32, "2*M,2*N" } }, outputs = { { "y", f32, "M,N" } } },
    function(i, j, x)
      return window(i, j, x, 2, 2, function(s, v) return math.max(s, v) end, -math.huge)
    end,
    "local p, q = 2 * i, 2 * j\n    y[{i, j}] = max(max(x[{p, q}], x[{p + 1, q}]), "
      .. "max(x[{p, q + 1}], x[{p + 1, q + 1}]))"),
  task("mean pooling", { inputs = image, outputs = { { "y", f32, "M,N" } } },
    function(i, j, x)
      return window(i, j, x, 3, 1, function(s, v) return s + v / 9 end, 0.0)
    end, [[
local sum = f32(0)
    for a = 0, 2 do
      for b = 0, 2 do sum = sum + x[{i + a, j + b}] end
    end
    y[{i, j}] = sum / 9]]),
  task("stencil of five points", { inputs = image, outputs = { { "y", f32, "M,N" } } },
    function(i, j, x)
      return x[{ i, j + 1 }] + x[{ i + 2, j + 1 }] + x[{ i + 1, j }] + x[{ i + 1, j + 2 }]
        - 4 * x[{ i + 1, j + 1 }]
    end, "y[{i, j}] = x[{i, j + 1}] + x[{i + 2, j + 1}] + x[{i + 1, j}] + x[{i + 1, j + 2}] "
      .. "- 4 * x[{i + 1, j + 1}]"),
}
