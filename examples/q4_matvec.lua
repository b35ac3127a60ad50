-- q4_matvec.lua: y = W * x with weights of 4 bits, in the blocks that llama.cpp calls Q4_0: a scale
-- in f16 and 32 nibbles, 18 bytes. First a kernel converts x to blocks of 8 bits (Q8_1: a scale and
-- a sum in f16, 32 bytes). Then dp4a multiplies four weights at once, without converting to floats.
-- Usage: cuttle q4_matvec.lua [rows [columns]], columns a multiple of 32
local on_gpu = device().sm ~= nil
local n_rows = tonumber(arg[1] or (on_gpu and 16384 or 256))
local n_columns = tonumber(arg[2] or (on_gpu and 8192 or 1024))
local WARPS <const> = 4

-- A warp makes a block of 32 numbers: q = round(x / d), and the word of d and d * sum(q).
local quantize = kernel("quantize_q8_1", function(x, X)     -- (32,blocks), (36,blocks)
  local lane, block = threadIdx.x % 32, blockIdx.x * WARPS + threadIdx.x // 32
  if block < size(x, 1) then
    local v = x[{lane, block}]
    local d = warp_reduce(abs(v), "max") / 127
    local q = cast(round(where(d > 0, v / d, 0.0)), i32)
    local sum = warp_reduce(q, "add")
    recast(X, i8)[{4 + lane, block}] = cast(q, i8)
    if lane == 0 then recast(X, u32)[{0, block}] = f16x2(d, d * f32(sum)) end
  end
end)

-- A warp for a row. Four lanes share a block: lane j has the low nibbles of word j, which are
-- weights 4j to 4j + 3, and its high ones, which are 16 places further.
local matvec = kernel("matvec_q4_0", function(W, X, y)      -- (18,blocks,rows), (36,blocks), (rows)
  local lane, row = threadIdx.x % 32, blockIdx.x * WARPS + threadIdx.x // 32
  local halves, words, j = recast(W, u16), recast(X, u32), lane % 4
  if row < size(y) then
    local sum = f32(0)
    for b in range(lane // 4, size(W, 1), 8) do
      local low, high = u32(halves[{1 + 2 * j, b, row}]), u32(halves[{2 + 2 * j, b, row}])
      local nibbles = low | high << 16
      local dot = dp4a(i32(nibbles & 0x0f0f0f0f), i32(words[{1 + j, b}]), 0)
      dot = dp4a(i32(nibbles >> 4 & 0x0f0f0f0f), i32(words[{5 + j, b}]), dot)
      local d, s = f16x2.unpack(words[{0, b}])
      -- a nibble is 8 more than its weight; a lane takes a quarter of 8 * s
      sum = sum + bitcast(halves[{0, b, row}], f16) * (d * f32(dot) - 2 * s)
    end
    sum = warp_reduce(sum, "add")
    if lane == 0 then y[row] = sum end
  end
end)

local function launches(W, x, X, y)
  local blocks, threads = size(W, 1), 32 * WARPS
  return quantize:prepare{grid = cdiv(blocks, WARPS), block = threads}(x, X),
    matvec:prepare{grid = cdiv(size(y), WARPS), block = threads}(W, X, y)
end

-- Random blocks, and the weights that they stand for, in plain Lua.
local function make_weights(blocks, rows)
  local bytes, weights, scales = {}, {}, from_table(f16, {0.01, 0.02, 0.05, 0.1})
  local bits = recast(scales, u16):totable()
  for i = 1, blocks * rows do
    local at, which = 18 * (i - 1), math.random(4)
    local d = scales[which - 1]
    bytes[at + 1], bytes[at + 2] = bits[which] & 255, bits[which] >> 8
    for k = 1, 16 do
      local byte = math.random(0, 255)
      bytes[at + 2 + k] = byte
      weights[32 * (i - 1) + k] = ((byte & 15) - 8) * d
      weights[32 * (i - 1) + 16 + k] = ((byte >> 4) - 8) * d
    end
  end
  return from_table(u8, bytes, {18, blocks, rows}), weights
end

-- The largest error in units of 1/127 of the sum of |w| * (largest of |x| in its block), which
-- bounds what rounding x to 8 bits may cost.
local function check(columns, rows)
  local blocks = columns // 32
  local W, weights = make_weights(blocks, rows)
  local x, X, y = randn(f32, {32, blocks}), zeros(u8, {36, blocks}), zeros(f32, rows)
  local first, second = launches(W, x, X, y)
  first()
  second()
  local values, got, worst = x:totable(), y:totable(), 0.0
  for row = 1, rows do
    local sum, bound = 0.0, 0.0
    for b = 0, blocks - 1 do
      local largest = 0.0
      for k = 1, 32 do largest = math.max(largest, math.abs(values[k][b + 1])) end
      for k = 1, 32 do
        local w = weights[(row - 1) * columns + 32 * b + k]
        sum = sum + w * values[k][b + 1]
        bound = bound + math.abs(w) * largest / 127
      end
    end
    worst = math.max(worst, math.abs(got[row] - sum) / bound)
  end
  return worst
end

math.randomseed(1)
local worst = math.max(check(32, 1), check(256, 7), check(1024, 66), check(992, 5))
local ok = worst < 0.55
local W, x = zeros(u8, {18, n_columns // 32, n_rows}), randn(f32, {32, n_columns // 32})
local X, y = zeros(u8, {36, n_columns // 32}), zeros(f32, n_rows)
local first, second = launches(W, x, X, y)
first()
local ms = bench(second)
print(("%dx%d of 4 bits on %s: %s, error %.2f of a step"):format(n_rows, n_columns, device().name,
  ok and "correct" or "wrong", worst))
print(("%.4f ms, %.1f GB/s"):format(ms, 18 / 32 * n_rows * n_columns / ms * 1e-6))
os.exit(ok, true)
