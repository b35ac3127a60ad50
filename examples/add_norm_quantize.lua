-- add_norm_quantize.lua: what lies between the products of a transformer's layer in fp8. One kernel
-- adds the residual, normalises each row (RMSNorm) and quantises it to fp8, with one scale for 128
-- columns: a power of two in one byte (UE8M0). A batched product with a bias and the exact GELU,
-- 0.5 v (1 + erf(v / sqrt(2))), follows. Plain Lua checks both.
-- Usage: cuttle add_norm_quantize.lua [rows [columns]]
local on_gpu = device().sm ~= nil
local n_rows, n_columns = tonumber(arg[1] or (on_gpu and 8192 or 32)), tonumber(arg[2] or 4096)
local GROUP <const>, LARGEST <const>, EPSILON <const> = 128, 448.0, 1e-6 -- columns; of f8e4m3
local n_threads = min(1024, n_columns // 4)           -- a warp holds the 128 columns of a group
local parts = layout{4, n_threads, n_columns // (4 * n_threads)}
assert(size(parts) == n_columns and n_columns % GROUP == 0, "columns: n * 128, or n * 4096")

-- The exponent, as its byte, of the least power of two that is not below most / LARGEST.
local function scale_byte(most)
  local limit = bitcast(max(most, 1e-30) * (1.0 / LARGEST), u32)
  return (limit + 0x7fffff) >> 23
end

local add_norm_quantize = kernel("add_norm_quantize", function(x, residual, weight, q, scales)
  local row, thread = blockIdx.x, threadIdx.x
  local function mine(t, at) return view(tile(t, {n_columns, 1}, {0, at}), parts)(_, thread, _) end
  local h = fragment_like(mine(x, row))
  local r, w = fragment_like(h), fragment_like(h)
  copy(mine(x, row), h)
  copy(mine(residual, row), r)
  copy(mine(weight, 0), w)
  transform(h, r, h, function(a, b) return a + b end)
  copy(h, mine(residual, row))
  local squares = block_reduce(reduce(h, function(sum, v) return sum + v * v end, 0.0), "add")
  local inverse = rsqrt(squares * (1.0 / n_columns) + EPSILON)
  transform(h, w, h, function(v, g) return v * inverse * g end)
  for k = 0, size(parts, 2) - 1 do
    local most = reduce(h(_, k), function(top, v) return max(top, abs(v)) end, 0.0)
    local byte = scale_byte(warp_reduce(most, "max"))
    local factor = bitcast((254 - byte) << 23, f32)
    transform(h(_, k), function(v) return v * factor end)
    if thread % 32 == 0 then scales[{(k * n_threads + thread) // 32, row}] = cast(byte, u8) end
  end
  copy(cast(h, f8e4m3), mine(q, row))
end)

-- Columns first, so that rows are contiguous.
local x, residual = randn(f32, {n_columns, n_rows}), randn(f32, {n_columns, n_rows})
local weight, q = rand(f32, {n_columns, 1}), zeros(f8e4m3, {n_columns, n_rows})
local scales, before = zeros(u8, {n_columns // GROUP, n_rows}), residual:to("cpu")
local launch = add_norm_quantize{grid = n_rows, block = n_threads}
launch(x, residual, weight, q, scales)

-- {====== The row `at`, by plain Lua ======

local host = {x = x:to("cpu"), w = weight:to("cpu"), q = q:to("cpu"), s = scales:to("cpu")}
local function row_is_right(at)
  local h, squares = {}, 0.0
  for i = 0, n_columns - 1 do
    h[i] = host.x[{i, at}] + before[{i, at}]
    squares = squares + h[i] * h[i]
  end
  local inverse = 1 / math.sqrt(squares / n_columns + EPSILON)
  for group = 0, n_columns // GROUP - 1 do
    local most, scale = 0.0, 2.0 ^ (host.s[{group, at}] - 127)
    for i = group * GROUP, (group + 1) * GROUP - 1 do
      h[i] = h[i] * inverse * host.w[{i, 0}]
      most = math.max(most, math.abs(h[i]))
      -- fp8 has 3 bits of fraction: half a step is 1/16 of the number, or 2^-10.
      local got = host.q[{i, at}] * scale
      local bound = math.max(math.abs(h[i]) / 15.9, scale * 2.0 ^ -10)
      if math.abs(got - h[i]) > bound then return false end
    end
    if most > LARGEST * scale * 1.0001 or most < LARGEST / 2 * scale * 0.9999 then return false end
  end
  return true
end
local ok = true
for at = 0, n_rows - 1, math.max(1, n_rows // 8) do ok = ok and row_is_right(at) end

-- {====== A batched product, with a bias and GELU ======

local batches, m, n, k = 4, on_gpu and 512 or 48, on_gpu and 512 or 40, on_gpu and 256 or 24
local A, B = randn(f32, {m, k, batches}), randn(f32, {n, k, batches})
local bias, C = randn(f32, n), zeros(f32, {m, n, batches})
local function gelu(v) return 0.5 * v * (1.0 + erf(v * 0.5 ^ 0.5)) end
matmul(A, B, C, {alpha = k ^ -0.5, bias = bias, epilogue = gelu})
local a, b, c, worst = A:to("cpu"), B:to("cpu"), C:to("cpu"), 0.0
for i = 0, 99 do
  local at = {i * 7 % m, i * 11 % n, i % batches}
  local v = 0.0
  for j = 0, k - 1 do v = v + a[{at[1], j, at[3]}] * b[{at[2], j, at[3]}] end
  worst = math.max(worst, math.abs(c[at] - gelu(v * k ^ -0.5 + bias:to("cpu")[at[2]])))
end
ok = ok and worst < 1e-5

local ms = bench(function() launch(x, residual, weight, q, scales) end)
print(("add, norm, quantise %dx%d on %s; product with GELU: %s"):format(n_rows, n_columns,
  device().name, ok and "correct" or "wrong"))
print(("%.4f ms, %.1f GB/s"):format(ms, n_rows * n_columns * (3 * 4 + 1) / ms * 1e-6))
os.exit(ok, true)
