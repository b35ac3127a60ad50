-- moves.lua: elements that change their places: transposition, gather, scatter, padding, rotation.
local t = dofile "tests/judge/texts.lua"

local function each_pair(y, f)
  for i = 0, size(y, 0) - 1 do
    for j = 0, size(y, 1) - 1 do f(i, j) end
  end
end

-- A task of which each element (i, j) of y comes from one place. `value(i, j, ...)` says it in Lua.
local function task(name, fields, value, body)
  fields.name = name
  fields.sizes = fields.sizes or { M = { 1, 20 }, N = { 1, 70 } }
  fields.inputs = fields.inputs or { { "x", f32, "M,N" } }
  local args = {}
  for i, row in ipairs(fields.inputs) do args[i] = row[1] end
  args[#args + 1] = "y"
  fields.reference = function(...)
    local list = { ... }
    local y = list[#list]
    each_pair(y, function(i, j) y[{ i, j }] = value(i, j, table.unpack(list)) end)
  end
  fields.right = t.pairs(table.concat(args, ", "), "y", body)
  local wrong = fields.wrong
  t.pairs_faults(fields, "y").wrong = wrong or fields.wrong
  return fields
end

local function index(rows, most)
  return { "at", i32, rows, values = { 0, most } }
end

local scatter = {
  name = "scatter rows", sizes = { M = { 1, 20 }, N = { 1, 70 } },
  inputs = { { "x", f32, "M,N" }, { "at", i32, "M", values = "permutation" } },
  outputs = { { "y", f32, "M,N" } },
  reference = function(x, at, y)
    each_pair(x, function(i, j) y[{ at[i], j }] = x[{ i, j }] end)
  end,
  right = t.pairs("x, at, y", "y", "y[{at[i], j}] = x[{i, j}]"),
}

local flat = {
  name = "transpose of planes", sizes = { B = { 1, 4 }, M = { 1, 9 }, N = { 1, 40 } },
  inputs = { { "x", f16, "B,M,N" } }, outputs = { { "y", f16, "B,N,M" } },
  reference = function(x, y)
    for b = 0, size(x, 0) - 1 do
      for i = 0, size(x, 1) - 1 do
        for j = 0, size(x, 2) - 1 do y[{ b, j, i }] = x[{ b, i, j }] end
      end
    end
  end,
  right = [[
local k = kernel("planes", function(x, y)
  local j = blockIdx.x * 64 + threadIdx.x
  if j < size(x, 2) then y[{blockIdx.z, j, blockIdx.y}] = x[{blockIdx.z, blockIdx.y, j}] end
end)
return function(x, y)
  k{grid = {cdiv(size(x, 2), 64), size(x, 1), size(x, 0)}, block = 64}(x, y)
end
]],
  wrong = { "j < size(x, 2)", "j < size(x, 2) // 2 * 2" },
  race = { "[{blockIdx.z, j, blockIdx.y}] =", "[{blockIdx.z, j // 2, blockIdx.y}] =" },
  outside = { "j < size(x, 2)", "j <= size(x, 2)" },
}

return {
  {
    name = "transposition in tiles", sizes = { M = { 1, 70 }, N = { 1, 70 } },
    inputs = { { "x", f32, "M,N", order = "any" } }, outputs = { { "y", f32, "N,M" } },
    reference = function(x, y) each_pair(x, function(i, j) y[{ j, i }] = x[{ i, j }] end) end,
    right = [[
local k = kernel("transpose", function(x, y)
  local s = shared(f32, {33, 32})
  local j = blockIdx.x * 32 + threadIdx.x
  for r = threadIdx.y, 31, 4 do
    local i = blockIdx.y * 32 + r
    if i < size(x, 0) and j < size(x, 1) then s[{threadIdx.x, r}] = x[{i, j}] end
  end
  sync_threads()
  local to = blockIdx.y * 32 + threadIdx.x
  for r = threadIdx.y, 31, 4 do
    local i = blockIdx.x * 32 + r
    if i < size(y, 0) and to < size(y, 1) then y[{i, to}] = s[{r, threadIdx.x}] end
  end
end)
return function(x, y)
  k{grid = {cdiv(size(x, 1), 32), cdiv(size(x, 0), 32)}, block = {32, 4}}(x, y)
end
]],
    wrong = { "i < size(y, 0) and to", "i < size(y, 0) // 2 * 2 and to" },
    race = { "  sync_threads()\n", "" },
    outside = { "i < size(y, 0) and", "i <= size(y, 0) and" } },
  flat,
  task("gather rows", { inputs = { { "x", f32, "M,N" }, index("K", "M-1") },
    sizes = { M = { 1, 20 }, N = { 1, 70 }, K = { 1, 30 } }, outputs = { { "y", f32, "K,N" } } },
    function(i, j, x, at) return x[{ at[i], j }] end, "y[{i, j}] = x[{at[i], j}]"),
  t.pairs_faults(scatter, "y"),
  task("padding", { outputs = { { "y", f32, "M+2,N+3" } } }, function(i, j, x)
    local is_in = i > 0 and i <= size(x, 0) and j > 0 and j <= size(x, 1)
    return is_in and x[{ i - 1, j - 1 }] or 0.0
  end, [[
    if i > 0 and i <= size(x, 0) and j > 0 and j <= size(x, 1) then
      y[{i, j}] = x[{i - 1, j - 1}]
    else
      y[{i, j}] = 0
    end]]),
  task("concatenation", { inputs = { { "x", i32, "M,N" }, { "z", i32, "M,K" } },
    sizes = { M = { 1, 20 }, N = { 1, 40 }, K = { 1, 40 } }, outputs = { { "y", i32, "M,N+K" } } },
    function(i, j, x, z)
      local n = size(x, 1)
      if j < n then return x[{ i, j }] end
      return z[{ i, j - n }]
    end,
    "local n = size(x, 1)\n    if j < n then y[{i, j}] = x[{i, j}] "
      .. "else y[{i, j}] = z[{i, j - n}] end"),
  task("roll", { outputs = { { "y", f32, "M,N" } } },
    function(i, j, x) return x[{ i, (j + 5) % size(x, 1) }] end,
    "y[{i, j}] = x[{i, (j + 5) % size(x, 1)}]"),
  task("rotary embedding", {
    inputs = { { "x", f32, "M,2*N" }, { "c", f32, "M,N" }, { "s", f32, "M,N" } },
    sizes = { M = { 1, 20 }, N = { 1, 40 } }, outputs = { { "y", f32, "M,2*N" } },
    wrong = { "(j + n) % (2 * n)", "(j + n) % (2 * n) // 2 * 2" } },
    function(i, j, x, c, s)
      local n = size(c, 1)
      local k = j % n
      local sign = j < n and -1 or 1
      return x[{ i, j }] * c[{ i, k }] + sign * x[{ i, (j + n) % (2 * n) }] * s[{ i, k }]
    end, [[
local n = size(c, 1)
    local p = j % n
    local other = x[{i, (j + n) % (2 * n)}] * s[{i, p}]
    y[{i, j}] = x[{i, j}] * c[{i, p}] + where(j < n, -other, other)]]),
}
