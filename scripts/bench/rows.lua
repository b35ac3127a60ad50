-- rows.lua: the operators of cuttle.rows on a GPU: first most of them beside the CPU engine, then
-- their rates beside the device's copy of the same shape. Each input and each result counts once.
-- Usage: CUTTLE_DEVICE=cuda cuttle scripts/bench/rows.lua [compare | time] [ROWSxCOLUMNS ...]
-- "compare" and "time" do one of both; shapes are those that are timed, and then nothing else is.
local only, given_shapes = nil, {}
for _, a in ipairs(arg) do
  local n_rows, n_columns = a:match "^(%d+)x(%d+)$"
  if n_rows then
    table.insert(given_shapes, {math.tointeger(n_rows), math.tointeger(n_columns)})
  elseif a == "compare" or a == "time" then
    only = a
  else
    error(("'%s': expected compare, time or a shape such as 32768x4096"):format(a))
  end
end
local optimizers = require "cuttle.optimizers"
local rows = require "cuttle.rows"
local fill = kernel("fill", function(x, seed)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    local a = randn_f32x4(seed, i)
    x[i] = cast(a, x.dtype)
  end
end)
local seed = 0
local function random(dtype, ...)
  local x = zeros(dtype, row_major{...})
  seed = seed + 1
  fill{grid = 1056, block = 256}(view(x, layout(size(x))), seed)
  return x
end
local function same(n, name, ...)
  local f = rows[name]
  local on_gpu, on_cpu = {}, {}
  for i, x in ipairs { ... } do
    on_gpu[i], on_cpu[i] = x, type(x) == "number" and x or x:to("cpu")
  end
  local a, b = { f(table.unpack(on_gpu)) }, { f(table.unpack(on_cpu)) }
  local ok = true
  for i = 1, #a do ok = ok and allclose(a[i]:to("cpu"), b[i]) end
  if not ok then print("DIFFERS", name, n) end
end
local function quantised(x, dy, w)
  return {
    { "quantize_fp8_blocks", x }, { "quantize_int8_blocks", x }, { "quantize_mxfp8", x },
    { "rms_norm_fp8_blocks", x, w, 1e-6 }, { "add_rms_norm_mxfp8", x, dy, w, 1e-6 },
    { "swiglu_mxfp8", x, dy },
  }
end
local count = 0
local function compare_all()
for _, n in ipairs { 7, 100, 1000, 1024, 4096, 5000, 16384, 32768, 40000, 131072, 600000 } do
  local R = 9
  local x, dy, w, b = random(bf16, R, n), random(bf16, R, n), random(bf16, n), random(bf16, n)
  local r = full(f32, row_major{R, 1}, 0.7)
  local t = tensor(i64, row_major{R, 1})
  for i = 0, R - 1 do t[{i, 0}] = i * 17 % n end
  local calls = {
    { "softmax", x }, { "rms_norm", x, w, 1e-6 }, { "layer_norm", x, w, b, 1e-6 },
    { "rms_norm_backward", dy, x, w, r }, { "layer_norm_backward", dy, x, w, r, r },
    { "cross_entropy", x, t, -1 }, { "swiglu", x, dy }, { "geglu", x, dy }, { "quantize", x },
    { "softmax_backward", dy, x }, { "log_softmax", x }, { "add_rms_norm", x, dy, w, 1e-6 },
    { "swiglu_backward", dy, x, dy }, { "cross_entropy_backward", r, x, t, r, -1 },
  }
  local more = n % 4 == 0 and quantised(x, dy, w) or {} -- groups of 128 need it
  table.move(more, 1, #more, #calls + 1, calls)
  for _, call in ipairs(calls) do
    same(n, table.unpack(call))
    count = count + 1
  end
end
for _, D in ipairs { 64, 96, 128, 256 } do -- heads, with rotary embedding
  local x, w = random(bf16, 33, 7, D), random(bf16, D)
  local cos, sin = random(f32, 40, D // 2), random(f32, 40, D // 2)
  local at = view(arange(i32, 33), layout({33, 1, 1}, {1, 0, 0})):to(x.device)
  for _, name in ipairs { "rotary_halves", "rotary_pairs" } do
    same(D, name, x, cos, sin, at)
    same(D, "rms_norm_" .. name, x, w, 1e-6, cos, sin, at)
    count = count + 2
  end
end
do -- what takes more than rows: the same calls on the CPU engine, one after the other
  local function compare(name, f, ...)
    local on_gpu, on_cpu, ok = {...}, {}, true
    for i, x in ipairs(on_gpu) do on_cpu[i] = type(x) == "number" and x or x:to("cpu") end
    local a, b = {f(table.unpack(on_gpu))}, {f(table.unpack(on_cpu))}
    for i in ipairs(b) do ok = ok and allclose(a[i]:to("cpu"), b[i]) end
    if not ok then print("DIFFERS", name) end
    count = count + 1
  end
  local x, w, images = random(bf16, 100, 64), random(bf16, 3000, 64), random(bf16, 3, 32, 7, 9)
  local target = zeros(i32, row_major{100, 1})
  for i = 0, 99 do target[{i, 0}] = i * 31 % 3000 end
  local options <const> = {chunk = 1000, z = 1e-3}
  local function loss(a, b, t) return rows.linear_cross_entropy(a, b, t, options) end
  local function gradients(a, b, t)
    local _, lse = loss(a, b, t)
    return rows.linear_cross_entropy_backward(0.5, a, b, t, lse, options)
  end
  compare("linear_cross_entropy", loss, x, w, target)
  compare("linear_cross_entropy_backward", gradients, x, w, target)
  compare("linear_cross_entropy_gradients", function(a, b, t)
    return rows.linear_cross_entropy_gradients(0.5, a, b, t, {z = 1e-3, rows = 64})
  end, x, w, target)
  compare("group_norm", function(a, b, c) return rows.group_norm(a, 4, b, c, 1e-5) end, images,
    random(bf16, 32), random(bf16, 32))
  compare("dropout", function(a) return rows.dropout(a, 0.3, 11) end, w)
  compare("adamw", function(...)
    local optimizer = optimizers.adamw({...}, {masters = true, stochastic = true, seed = 3})
    for _ = 1, 3 do optimizer:step({...}, {rate = 1e-2, max_norm = 1.0}) end
    return ...
  end, random(bf16, 1001), random(bf16, 3), random(bf16, 70000))
end
print("compared with the CPU engine:", count)
end
local function time_others()
local function time_optimizer() -- 100 tensors of 8 Mi elements and 100 of 4 Ki
  local parameters, gradients, n = {}, {}, 0
  for i = 1, 200 do
    local length = i % 2 == 0 and 1 << 23 or 1 << 12
    parameters[i], gradients[i], n = random(bf16, length), random(bf16, length), n + length
  end
  local optimizer = optimizers.adamw(parameters, {masters = true})
  local ms = bench(function() optimizer:step(gradients, {rate = 1e-4}) end)
  print(("adamw of %d elements in 200 tensors: %.3f TB/s"):format(n, 30 * n / ms / 1e9))
end
local function time_loss()
  local T, K, V <const> = 8192, 4096, 131072
  local x, w, target = random(bf16, T, K), random(bf16, V, K), zeros(i32, row_major{T, 1})
  local ms = bench(function() rows.linear_cross_entropy(x, w, target) end)
  print(("linear_cross_entropy %dx%dx%d: %.1f TFLOP/s"):format(T, K, V, 2 * T * K * V / ms / 1e9))
  local out <const> = {zeros(f32, row_major{T, 1}), zeros(f32, row_major{T, 1}),
    zeros(bf16, row_major{T, K}), zeros(bf16, row_major{V, K})}
  ms = bench(function()
    rows.linear_cross_entropy_gradients(1 / T, x, w, target, {out = out})
  end)
  print(("with its gradients: %.2f ms, %.1f TFLOP/s"):format(ms, 6 * T * K * V / ms / 1e9))
end
local function time_dropout()
  local x, y = random(bf16, 16384, 4096), random(bf16, 16384, 4096)
  local ms = bench(function() rows.dropout_add(x, y, 0.1, 5, {out = y}) end)
  print(("dropout_add 16384x4096: %.3f TB/s"):format(6 * 16384 * 4096 / ms / 1e9))
end
  time_optimizer()
  time_loss()
  time_dropout()
  local T, H, D <const> = 16384, 32, 128
  local x, w = random(bf16, T, H, D), random(bf16, D)
  local cos, sin = random(f32, T, D // 2), random(f32, T, D // 2)
  local at = view(arange(i32, T), layout({T, 1, 1}, {1, 0, 0})):to(x.device)
  for _, name in ipairs { "rotary_halves", "rotary_pairs" } do
    local turn = rows[name]:prepare(x, cos, sin, at, {out = x})
    local both = rows["rms_norm_" .. name]:prepare(x, w, 1e-6, cos, sin, at)
    for i, launch in ipairs { turn, both } do
      local ms = bench(launch)
      print(("%dx%dx%d %s%s %.3f TB/s"):format(T, H, D, i == 2 and "rms_norm_" or "", name,
        4 * T * H * D / ms / 1e9))
    end
  end
end
local function time_shape(R, n)
  local x = random(bf16, R, n)
  local y = zeros(bf16, row_major{R, n})
  local w, b = random(bf16, n), random(bf16, n)
  local r = full(f32, row_major{R, 1}, 0.7)
  local t = zeros(i64, row_major{R, 1})
  local bytes = R * n * 2
  local copy_ms = bench(function() copy(x, y) end)
  local base = 2 * bytes / copy_ms / 1e9
  print(("copy %dx%d %.3f TB/s"):format(R, n, base))
  local function time(name, tensors, ...)
    local args = {...}
    local ok, ms = pcall(function()
      local launch = rows[name]:prepare(table.unpack(args))
      launch()
      synchronize()
      return (bench(launch))
    end)
    local rate = ok and tensors * bytes / ms / 1e9
    print(("%dx%d %-22s %s  %s"):format(R, n, name,
      ok and ("%.3f TB/s = %.3f"):format(rate, rate / base) or ms,
      rows[name]:explain(table.unpack(args)).shape or ""))
  end
  time("softmax", 2, x, {out = y})
  time("rms_norm", 2, x, w, 1e-6, {out = {y, r}})
  time("layer_norm", 2, x, w, b, 1e-6, {out = {y, r, zeros(f32, row_major{R, 1})}})
  local m = full(f32, row_major{R, 1}, 0.1)
  time("cross_entropy", 1, x, t, -100)
  time("cross_entropy_mean", 1, x, t, -100)
  time("cross_entropy_backward", 2, r, x, t, r, -100, {out = y})
  time("quantize", 1.5, x)
  time("quantize_fp8_blocks", 1.5, x)
  time("quantize_mxfp8", 1.5, x)
  time("rms_norm_fp8_blocks", 1.5, x, w, 1e-6)
  if n <= 65536 then
    local d = random(bf16, R, n)
    time("rms_norm_backward", 3, d, x, w, r, {out = {y, zeros(f32, n)}})
    time("layer_norm_backward", 3, d, x, w, m, r, {out = {y, zeros(f32, n), zeros(f32, n)}})
    time("softmax_backward", 3, d, x, {out = y})
    time("swiglu", 3, d, x, {out = y})
    time("geglu", 3, d, x, {out = y})
    time("geglu_backward", 5, d, x, d)
    time("swiglu_mxfp8", 2.5, d, x)
    d:close()
  end
  x:close()
  y:close()
end
if only ~= "time" and #given_shapes == 0 then compare_all() end
if only == "compare" then os.exit(true, true) end
if #given_shapes == 0 then time_others() end
local shapes <const> = #given_shapes > 0 and given_shapes
  or { { 32768, 1024 }, { 32768, 4096 }, { 8192, 32768 }, { 16384, 131072 } }
for _, shape in ipairs(shapes) do time_shape(shape[1], shape[2]) end
