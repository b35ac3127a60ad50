-- saxpy.lua: y = a * x + y. Each thread takes four neighbouring elements, so that both tensors are
-- read and written 16 bytes at a time. Usage: cuttle saxpy.lua [N]
local n_threads, n_values = 256, 4
local N = tonumber(arg[1] or (device().sm and 1 << 26 or 1 << 20))
local n_block = n_threads * n_values

local saxpy = kernel("saxpy", function(a, x, y)
  local bx = tile(x, {n_block}, {blockIdx.x})               -- the block's part
  local by = tile(y, {n_block}, {blockIdx.x})
  local tx = tile(bx, {n_values}, {threadIdx.x})            -- the thread's part
  local ty = tile(by, {n_values}, {threadIdx.x})
  local rx, ry = fragment_like(tx), fragment_like(ty)
  copy(tx, rx)
  copy(ty, ry)
  axpby(a, rx, 1, ry)
  copy(ry, ty)
end)

local a, x, y = 2.0, rand(f32, {N}), rand(f32, {N})
local before = y:to("cpu")
local launch = saxpy:prepare{grid = N // n_block, block = n_threads}(a, x, y)
launch()

-- one rounding, as fma: in double precision the product is exact and the sum nearly so
local xs, olds, news, worst = x:totable(), before:totable(), y:totable(), 0.0
for i = 1, #xs, 977 do worst = math.max(worst, math.abs(news[i] - (a * xs[i] + olds[i]))) end
local ok = worst < 2 ^ -22
print(("saxpy %d f32 on %s: %s, largest error %.2g"):format(N, device().name,
  ok and "correct" or "wrong", worst))
local ms = bench(launch)
print(("%.4f ms, %.1f GB/s"):format(ms, 12 * N / ms * 1e-6))
os.exit(ok, true)
