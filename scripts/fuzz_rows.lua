-- fuzz_rows.lua: random calls of the operators of cuttle.rows on the device in use: operators,
-- types, lengths and numbers of rows, modes and strides. Each is compared with the same call on the
-- CPU engine; with the call on f64 copies there, whose kernels share rows in another way; and, by
-- its bits, with the call for some of the rows: a row's results do not depend on the other rows.
--   cuttle scripts/fuzz_rows.lua [calls [seed [longest row [operators]]]]
-- With few operators, chosen by the seed, more calls share a kernel. After every 100 calls it says
-- how many there were.
local rows = require "cuttle.rows"
io.stdout:setvbuf "line"
local on_gpu = device().sm ~= nil
local n_calls = tonumber(arg[1] or (on_gpu and 700 or 60))
local seed, longest = tonumber(arg[2] or 1), tonumber(arg[3] or (on_gpu and 270000 or 5000))
math.randomseed(seed)

local function pick(list) return list[math.random(#list)] end

-- A kernel is made for a type and a number of columns, so a run has few of them; other seeds have
-- others.
local LENGTHS <const> = 3
local lengths = { 1024, 4096, math.random(1, 64), 2 * math.random(1, 200),
  4 * math.random(100, 3000), 2 * math.random(2000, 30000), math.random(1000, 9000), 16384, 32768,
  8 * math.random(1000, 16384), 131072, math.random(100000, 270000) }
for i = #lengths, 1, -1 do
  if lengths[i] > longest then table.remove(lengths, i) end
end
while #lengths > LENGTHS do table.remove(lengths, math.random(#lengths)) end
local types <const> = { pick{ bf16, f16 }, pick{ bf16, f32 } }

-- {====== Operators: their arguments, and whether sums of columns are among the results ======
-- x: elements, w: columns, s, m: a number of each row, t: a column of each row or -100, c: a table
-- of rotary_halves, p: a row of it.

local operators <const> = {
  rms_norm = "x w 1e-6", add_rms_norm = "x x w 1e-6", layer_norm = "x w w 1e-5",
  rms_norm_backward = "x x w s", layer_norm_backward = "x x w m s",
  add_rms_norm_backward = "x x x w s", add_layer_norm = "x x w w 1e-5",
  add_layer_norm_backward = "x x x w m s", layer_norm_mxfp8 = "x w w 1e-5",
  softmax = "x", log_softmax = "x", softmax_backward = "x x", log_softmax_backward = "x x",
  cross_entropy = "x t -100", cross_entropy_backward = "s x t m -100",
  smooth_cross_entropy = "x t 0.1 -100", smooth_cross_entropy_backward = "s x t m 0.1 -100",
  swiglu = "x x", swiglu_backward = "x x x", geglu = "x x", geglu_backward = "x x x",
  geglu_tanh = "x x", geglu_tanh_backward = "x x x", rms_norm_swiglu = "x x w 1e-6",
  rms_norm_swiglu_backward = "x x x w s", kl_divergence = "x x", entropy = "x",
  kl_divergence_backward = "s x x m m",
  quantize = "x",
  quantize_fp8_blocks = "x", quantize_int8_blocks = "x", rms_norm_mxfp8 = "x w 1e-6", argmax = "x",
  rms_norm_fp8_rows = "x w 1e-6", swiglu_int8_rows = "x x",
  rotary_halves = "x c c p", rms_norm_rotary_halves = "x w 1e-6 c c p", dropout = "x 0.25 7",
  dropout_add_rms_norm = "x x w 1e-6 0.25 7",
}
local names = {}
for name in pairs(operators) do names[#names + 1] = name end
table.sort(names)
for _ = 1, #names - (tonumber(arg[4]) or #names) do table.remove(names, math.random(#names)) end

-- Results whose last digit may fall on either side: they are compared with the CPU engine alone.
local function is_narrowed(name)
  return name:find "^quantize" or name:find "mxfp8" or name:find "8_rows$" or name == "argmax"
end

local function fits(name, n)
  if name:find "_blocks$" or name:find "mxfp8" then return n % 4 == 0 end
  return not name:find "rotary" or n % 2 == 0 and n <= 1024 and n & n - 1 == 0
end

-- {====== Arguments ======

local fill = kernel("fill", function(y, from, is_normal)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then
    local a = randn_f32x4(from, i)
    if not is_normal then a = 0.5 + rand_f32x4(from, i) end
    y[i] = cast(a, y.dtype)
  end
end)

local function random(dtype, n, is_normal)
  local x = tensor(dtype, n)
  fill{grid = cdiv(n, 256), block = 256}(x, math.random(1 << 30), is_normal)
  return x
end

-- The shape (..., n) with at most `most` elements, and strides of a tensor that has it: rows may
-- have gaps, columns other distances than 1, and modes any order.
local function random_shape(n, most)
  local n_rows = math.max(1, math.min(pick{ 1, 2, 3, 9, 40, 200 }, most // n))
  if n_rows == 1 or math.random(3) > 1 then return { n_rows, n } end
  return { pick{ 1, 2, 3 }, n_rows, n }
end

local function elements(dtype, shape)
  local step, gap = pick{ 1, 1, 1, 1, 1, 2 }, pick{ 0, 0, 0, 1, 8, 16 }
  local strides, reach = { [#shape] = step }, shape[#shape] * step + gap
  local order = { #shape - 1, #shape - 2 }
  if math.random(3) == 1 then order = { #shape - 2, #shape - 1 } end
  for _, i in ipairs(order) do
    if i > 0 then strides[i], reach = reach, reach * shape[i] end
  end
  return view(random(dtype, reach, true), layout(shape, strides))
end

local function of_rows(shape)
  local out = table.move(shape, 1, #shape, 1, {})
  out[#out] = 1
  return out
end

local function integers(shape, from, to)
  local list = {}
  local n = 1
  for _, e in ipairs(shape) do n = n * e end
  for i = 1, n do list[i] = math.random(8) == 1 and from < 0 and from or math.random(0, to) end
  return view(from_table(i32, list), row_major(shape)):to(on_gpu and "cuda" or "cpu")
end

local POSITIONS <const> = 50

local makers = {
  x = function(dtype, shape) return elements(dtype, shape) end,
  w = function(dtype, shape) return random(dtype, shape[#shape], false) end,
  s = function(_, shape) return view(random(f32, math.tointeger(#shape == 3 and shape[1] * shape[2]
    or shape[1]), false), row_major(of_rows(shape))) end,
  t = function(_, shape) return integers(of_rows(shape), -100, shape[#shape] - 1) end,
  c = function(_, shape) return view(random(f32, POSITIONS * (shape[#shape] // 2), true),
    row_major{POSITIONS, shape[#shape] // 2}) end,
  p = function(_, shape) return integers(of_rows(shape), 0, POSITIONS - 1) end,
}
makers.m = makers.s

local function arguments_of(name, dtype, shape)
  local args = {}
  for word in operators[name]:gmatch "%S+" do
    args[#args + 1] = tonumber(word) or makers[word](dtype, shape)
  end
  return args
end

-- {====== Comparison ======

local function each_tensor(args, f)
  local out = {}
  for i, a in ipairs(args) do out[i] = type(a) == "number" and a or f(a, i) end
  return out
end

local widen = kernel("widen", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = cast(x[i], y.dtype) end
end)

local function as_f64(t)
  if not t.dtype.is_float then return t end
  local y = zeros(f64, row_major(shape(t))):to "cpu"
  widen{grid = cdiv(size(t), 256), block = 256}(t, y)
  return y
end

local eps <const> = { [f64] = 1e-12, [f32] = 2e-5, [f16] = 2.0 ^ -9, [bf16] = 2.0 ^ -6 }

local function largest(t)
  local most = 0
  for _, v in ipairs(view(t, layout(size(t))):totable()) do
    if v == v then most = math.max(most, math.abs(v)) end
  end
  return most
end

local function is_near(got, exact)
  local e = eps[got.dtype]
  return allclose(as_f64(got), exact, { rtol = e, atol = e * math.max(largest(exact), 1e-3) })
end

-- Rows [first, first + n) of (rows, columns), or what all rows share.
local function some_rows(t, first, n, n_rows, word)
  if word == "w" or word == "c" or size(t, 0) ~= n_rows then return t end
  return view(tile(t, { 1, size(t, 1) }, { first, 0 }), layout({ n, size(t, 1) }, stride(t)))
end

local n_wrong = 0
local function say(i, name, dtype, shape, what)
  n_wrong = n_wrong + 1
  print(("DIFFERS: call %d of seed %d, %s of %s (%s): %s"):format(i, seed, name, dtype,
    table.concat(shape, ","), what))
end

local function compare_rows(i, name, dtype, shape, args, got)
  local n_rows = shape[1]
  if #shape ~= 2 or n_rows < 2 or name:find "dropout" then return end
  local first = math.random(0, n_rows - 1)
  local n = math.random(1, n_rows - first)
  local words = {}
  for word in operators[name]:gmatch "%S+" do words[#words + 1] = word end
  local part = { rows[name](table.unpack(each_tensor(args, function(t, j)
    return some_rows(t, first, n, n_rows, words[j])
  end))) }
  for j, g in ipairs(got) do
    if rank(g) == 2 and size(g, 0) == n_rows then
      local want = some_rows(g:to "cpu", first, n, n_rows)
      if not allclose(part[j]:to "cpu", want, { rtol = 0, atol = 0 }) then
        say(i, name, dtype, shape, ("result %d of rows %d to %d alone"):format(j, first,
          first + n - 1))
      end
    end
  end
end

local function try(i)
  local name, n = pick(names), pick(lengths)
  while not fits(name, n) do name, n = pick(names), pick(lengths) end
  local dtype, shape = pick(types), random_shape(n, on_gpu and 300000 or 40000)
  local args = arguments_of(name, dtype, shape)
  local got = { rows[name](table.unpack(args)) }
  local on_cpu = each_tensor(args, function(t) return t:to "cpu" end)
  local want = { rows[name](table.unpack(on_cpu)) }
  local exact = not is_narrowed(name)
    and { rows[name](table.unpack(each_tensor(on_cpu, as_f64))) } or {}
  for j, w in ipairs(want) do
    local g = got[j]:to "cpu"
    if not allclose(g, w) then say(i, name, dtype, shape, ("result %d"):format(j)) end
    if exact[j] and eps[g.dtype] and not is_near(g, exact[j]) then
      say(i, name, dtype, shape, ("result %d beside f64"):format(j))
    end
  end
  compare_rows(i, name, dtype, shape, args, got)
end

for i = 1, n_calls do
  try(i)
  if i % 100 == 0 then print(("%d calls, %d differ"):format(i, n_wrong)) end
end
print(("%d calls, %d differ"):format(n_calls, n_wrong))
os.exit(n_wrong == 0, true)
