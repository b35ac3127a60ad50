-- A row's order of sums, and its bits, do not depend on how many rows a launch has, if its length
-- alone chooses a row's threads: sums, RMSNorm, LayerNorm, and kernels of examples. If the number of
-- rows chooses them, both differ.
local COLUMNS <const>, ROWS <const> = 520, 70
manual_seed(7)
local here = zeros(f32, 1).device
local x, weight = randn(f32, {COLUMNS, ROWS}), randn(f32, COLUMNS)

-- Rows first to first + n - 1.
local function few(t, first, n) return view(t(_, first), layout({size(t, 0), n})) end
local words <const> = {[8] = u8, [32] = u32}
local function row_bits(t, row)
  return table.concat(recast(t:to("cpu")(_, row), words[t.dtype.bits]):totable(), " ")
end

-- c.launch(n): of n rows; c.args(first, n): its tensors; c.result: the number of the one that is
-- compared; c.name: its parameter.
local function order_of(c, first, n, row)
  local args = c.args(first, n)
  local last = size(args[c.result], 0) - 1
  return sum_order(c.launch(n), {[c.name] = {last, row}}, table.unpack(args))
end
local function result_of(c, first, n)
  local args = c.args(first, n)
  c.launch(n)(table.unpack(args))
  return args[c.result]
end

-- Are a row's order and bits those of a launch of that row alone?
local function is_kept(c)
  local all = result_of(c, 0, ROWS)
  for _, span in ipairs{{0, 1}, {3, 1}, {68, 2}, {5, 7}, {6, 64}} do
    local first, n = span[1], span[2]
    local some = result_of(c, first, n)
    for row = 0, n - 1 do
      if row_bits(some, row) ~= row_bits(all, first + row) then return false, "bits" end
    end
    local ok, why = same_order(order_of(c, first, n, n - 1), order_of(c, 0, ROWS, first + n - 1))
    if not ok then return false, why end
  end
  return true
end

local function on_rows(kernel_of, block_of, results)
  return {name = "y", result = 3, launch = function(n)
    return kernel_of(n){grid = block_of(n).grid, block = block_of(n).block}
  end, args = function(first, n)
    return {few(x, first, n), weight, zeros(f32, {results or COLUMNS, n}):to(here)}
  end}
end
local function block_each(threads)
  return function(n) return {grid = n, block = threads} end
end

local sum = kernel("row_sum", function(x, w, y)
  local part = 0.0
  for i in range(threadIdx.x, size(x, 0), blockDim.x) do
    part = fma(x[{i, blockIdx.x}], w[i], part)
  end
  local all = block_reduce(part, "add")
  if threadIdx.x == 0 then y[{0, blockIdx.x}] = all end
end)
print(is_kept(on_rows(function() return sum end, block_each(96), 1)))        -- expect: true

local rms_norm = kernel("rms_norm", function(x, w, y)
  local squares, n = 0.0, size(x, 0)
  for i in range(threadIdx.x, n, blockDim.x) do
    squares = squares + x[{i, blockIdx.x}] * x[{i, blockIdx.x}]
  end
  local scale = rsqrt(block_reduce(squares, "add") / cast(n, f32) + 1e-6)
  for i in range(threadIdx.x, n, blockDim.x) do
    y[{i, blockIdx.x}] = x[{i, blockIdx.x}] * scale * w[i]
  end
end)
print(is_kept(on_rows(function() return rms_norm end, block_each(128))))     -- expect: true

-- A warp a row; up to 8 warps share a block, as many as there are rows.
local layer_norm = kernel("layer_norm", function(x, w, y)
  local row, lane = blockIdx.x * (blockDim.x // 32) + threadIdx.x // 32, threadIdx.x % 32
  local n = size(x, 0)
  if row < size(x, 1) then
    local part, squares = 0.0, 0.0
    for i in range(lane, n, 32) do part = part + x[{i, row}] end
    local mean = warp_reduce(part, "add") / cast(n, f32)
    for i in range(lane, n, 32) do
      local d = x[{i, row}] - mean
      squares = fma(d, d, squares)
    end
    local scale = rsqrt(warp_reduce(squares, "add") / cast(n, f32) + 1e-6)
    for i in range(lane, n, 32) do y[{i, row}] = (x[{i, row}] - mean) * scale * w[i] end
  end
end)
local function warp_each(n)
  local warps = math.min(n, 8)
  return {grid = cdiv(n, warps), block = 32 * warps}
end
print(is_kept(on_rows(function() return layer_norm end, warp_each)))         -- expect: true

-- Kernels of examples.
local function kernels_of(path, ...)
  local found, file <close> = {}, assert(io.open(path))
  local function keep(name, f, options)
    found[name] = kernel(name, f, options)
    return found[name]
  end
  local env = {arg = {...}, os = {exit = function() end}, print = function() end, kernel = keep}
  assert(load(file:read "a", "@" .. path, "t", setmetatable(env, {__index = _G})))()
  return found
end
local softmax = kernels_of("examples/softmax.lua", "2", "512")
local function softmax_case(name, columns, threads)
  return {name = "y", result = 2, launch = function(n)
    return softmax[name]{grid = n, block = threads}
  end, args = function(first, n)
    return {view(few(x, first, n), layout({columns, n}, {1, COLUMNS})),
            zeros(f32, {columns, n}):to(here)}
  end}
end
print(is_kept(softmax_case("softmax_online", 500, 64)))                      -- expect: true

local norm = kernels_of("examples/add_norm_quantize.lua", "2", "512").add_norm_quantize
local residual, factors = randn(f32, {512, ROWS}), rand(f32, {512, 1})
print(is_kept{name = "q", result = 4, launch = function(n)                   -- expect: true
  return norm{grid = n, block = 128}
end, args = function(first, n)
  local added, source = zeros(f32, {512, n}):to(here), few(residual, first, n)
  copy(source, added)
  return {view(few(x, first, n), layout({512, n}, {1, COLUMNS})), added, factors,
          zeros(f8e4m3, {512, n}):to(here), zeros(u8, {4, n}):to(here)}
end})

-- More threads for each of few rows: another order, and other bits.
local function more_for_few(n) return {grid = n, block = n < 8 and 256 or 64} end
print(is_kept(on_rows(function() return sum end, more_for_few, 1)))          -- expect: false	bits
print(is_kept(on_rows(function() return rms_norm end, more_for_few)))        -- expect: false	bits
local few_rows = on_rows(function() return rms_norm end, more_for_few)
print((same_order(order_of(few_rows, 0, 1, 0), order_of(few_rows, 0, ROWS, 0)))) -- expect: false
