-- Whatever a script calls its locals, parameters, tensors, functions and kernels, the text compiles:
-- a name that a function of the text has is another one there. All names of emit_prelude.def are
-- tried beside calls of many of these. The text that the ledger knows to compile is not compiled again.
package.path = "scripts/?.lua;" .. package.path
local ledger = require "ledger"
local tap = dofile "tests/support/tap.lua"
local cuttle <const>, compiler <const> = arg[-1], os.getenv "CC" or "cc"

local function capture(command)
  local pipe = assert(io.popen(command))
  local out = pipe:read "a"
  return out, pipe:close()
end

-- The names, as the rows of the table say them once the preprocessor has made them.
local rows <const> = os.tmpname()
do
  local file <close> = assert(io.open(rows, "w"))
  file:write('#define X(NAME, head, fn, rest) name_is fn end\n')
  file:write('#include "runtime/emit/emit_prelude.def"\n')
end
local text = capture(("%s -E -P -x c -I. '%s' 2>/dev/null"):format(compiler, rows))
os.remove(rows)
local names, seen = {}, {}
local function add(name)
  if not seen[name] then
    seen[name] = true
    names[#names + 1] = name
  end
end
for literals in text:gmatch "name_is%s+(.-)%s+end" do
  local name = literals:gsub('"%s*"', ""):gsub('"', "")
  add(name)
end
if #names == 0 then tap.skip_all "no C preprocessor" end
for _, name in ipairs { "atomicAdd", "atomicAdd_system", "atomicMax", "bf16_fma", "tma_load_2d",
  "tma_store_2d", "SM80_16x8x16_F32F16F16F32_TN",
  "SM90_64x64x16_F32F16F16_SS_KK" } do
  add(name)
end
tap.ok(#names > 240, ("%d names"):format(#names))

-- What makes the text call the functions; the locals in it have other names.
local uses <const> = [[
local function use(x, y, d, h, s, bars, i)
  local a, b, f, g = x[i], x[i + 1], y[i], d[i]
  x[i] = (a // b) + (a % b) + (a << b) + (a >> b) + abs(a) + i32(f) + dp4a(a, b, 1) + warp_reduce(a, "add")
  x[i] = x[i] + i32(u32(f) << u32(a)) + i32(i64(f) << i64(a)) + atomic_add(x, 0, 1) + atomic_max(x, 1, a)
  y[i] = f % 3.0 + fast.exp2(f) + fast.exp(f) + fast.exp10(f) + fast.tanh(f) + exp(f) + log(f) + sin(f) + f ^ f
  y[i] = y[i] + cos(f) + tanh(f) + erf(f) + erfc(f) + erfinv(f) + exp10(f) + expm1(f) + log1p(f) + log10(f) + cbrt(f) + sinh(f)
  y[i] = y[i] + acos(f) + asin(f) + atan(f) + atan2(f, f) + cosh(f) + hypot(f, f) + rsqrt(f) + log2(f)
  d[i] = g % 3.0 + exp(g) + g ^ 2.0 + f64(i64(g)) + f64(u32(g)) + atomic_max(d, 0, g) + log(g) + sin(g) + atan(g)
  h[i] = f16(f32(h[i + 1]) * f)
  atomic_add(h, 3, f16(f))
  atomic_add(x, 2, 1, {scope = "sys"})
  atomic_store(x, 3, atomic_load(x, 4))
  y[i + 1] = f32(f8e4m3(f)) + f32(f8e5m2(f)) + f32(bf16(f)) + f32(cast(f, tf32))
  copy(tile(cache_hint(y, "evict_last"), {4}, {i}), tile(s, {4}, {i}))
  cp_async_wait(0)
  bars[0]:arrive()
  bars[0]:arrive_expect_tx(4)
  bars[0]:expect_tx(4)
  if bars[0]:test(0) then bars[0]:wait(0) end
  named_barrier(1, 32):sync()
  named_barrier(2, 32):arrive()
  cluster_arrive()
  cluster_wait()
  map_shared_rank(s, 0)[0] = 1.0
  if elect_one() then printf("%d %g", a, f) end
  assert(a < 1000, "no")
end
local x, y, d, h = ones(i32, 256), ones(f32, 256), ones(f64, 256), ones(f16, 256)
local function launch(name, body)
  kernel(name, body){grid = 2, block = 32, cluster = 2}(x, y, d, h)
end
]]

local BEGIN <const> = "local bars, i, s0 = mbarrier(1, 1), threadIdx.x, shared(f32, 256)"
local CALL <const> = "if x[255] == 5 then use(x, y, d, h, s0, bars, i) end" -- never true

local out = { uses }
local MANY <const> = 130 -- a function of Lua has fewer than 200 locals
local function put(format, ...) out[#out + 1] = format:format(...) end
local function batches(n, each)
  for first = 1, #names, n do
    local some = table.move(names, first, math.min(first + n - 1, #names), 1, {})
    each(some, first)
  end
end

-- Locals, shared tensors and fragments; the calls come while all of them are there.
local function kernel_of(kind, maker, use)
  batches(MANY, function(some, first)
    put("launch('%s_%d', function(x, y, d, h)", kind, first)
    put(BEGIN)
    for n, name in ipairs(some) do put("local %s = %s", name, maker(n)) end
    put(CALL) -- never
    for _, name in ipairs(some) do put(use, name) end
    put("end)")
  end)
end
kernel_of("locals", function(n) return ("x[%d]"):format(n) end, "y[i] = y[i] + %s")
kernel_of("shared", function() return "shared(f32, 2)" end, "%s[0] = 1.0")
kernel_of("fragments", function() return "fragment(f32, 2)" end, "%s[0] = y[i]")

-- Parameters: tensors and numbers.
batches(MANY, function(some, first)
  put("do local k = kernel('parameters_%d', function(x, y, d, h, %s)", first,
    table.concat(some, ", "))
  put(BEGIN)
  put(CALL)
  for n, name in ipairs(some) do
    put(n % 2 == 0 and "y[i] = y[i] + f32(%s)" or "%s[i] = 2", name)
  end
  put("end)\nlocal given = {}")
  for n = 1, #some do put("given[%d] = %s", n, n % 2 == 0 and "7" or "ones(i32, 32)") end
  put("k{grid = 2, block = 32, cluster = 2}(x, y, d, h, table.unpack(given)) end")
end)

-- Functions of device_fn. "odd" of an f32 is odd_f32.
batches(MANY, function(some, first)
  put("do local functions = {}")
  for n, name in ipairs(some) do
    put("functions[%d] = device_fn(function(a) return a + %d end, {name = %q})", n, n,
      name:gsub("_f32$", ""))
  end
  put("launch('functions_%d', function(x, y, d, h)", first)
  put(BEGIN)
  put("for n in unroll(1, %d) do y[i] = functions[n](y[i]) end", #some + 1)
  put(CALL)
  put("end) end")
end)

-- Kernels, some with calls of the function of that name.
local kernels = {}
for _, name in ipairs(names) do
  kernels[#kernels + 1] = ("kernel(%q, function(x) x[0] = 1 end){grid = 1, block = 1}(x)")
    :format(name)
end
for _, name in ipairs { "elect_one", "ct_exp_f32" } do
  put("launch(%q, function(x, y, d, h)", name)
  put(BEGIN)
  put(CALL)
  put("end)")
end

local path <const> = os.tmpname()
local function emit(lines, options)
  do
    local file <close> = assert(io.open(path, "w"))
    file:write(table.concat(lines, "\n"))
  end
  return capture(("CUTTLE_DEVICE=cpu '%s' emit --sm=90a %s '%s' 2>&1")
    :format(cuttle, options, path))
end
local info <const> = capture(("CUTTLE_DEVICE=cpu '%s' info"):format(cuttle))
local version <const> = info:match "\nNVRTC +(%d[%d.]*)"
if not version then
  os.remove(path)
  tap.skip_all "no NVRTC on this machine"
end
local code, is_done = emit(out, "")
local key <const> = version .. " sm_90a " .. code:gsub(path:gsub("%p", "%%%0"), "")
if not ledger.has(key, "names of helpers", "compiles") then
  code, is_done = emit(out, "--compile")
end
tap.ok(is_done, "it compiles", code:sub(-300))
if is_done then ledger.note(key, "names of helpers", "compiles") end
local n_called, called = 0, {}
for name in code:gmatch "__forceinline__ [%w_ *]-([%w_]+)%(" do
  if seen[name] and not called[name] then
    called[name], n_called = true, n_called + 1
  end
end
tap.ok(n_called > 80, ("%d of the functions are called"):format(n_called))

local n_kernels, kept = 0, {}
local bodies = emit({ "local x = zeros(i32, 1)", table.unpack(kernels) }, "")
for name in bodies:gmatch "__launch_bounds__%b()%s+([%w_]+)%(" do
  n_kernels = n_kernels + 1
  if seen[name] then kept[#kept + 1] = name end
end
tap.is(n_kernels, #names, "kernels of all names")
tap.is(table.concat(kept, " "), "", "none keeps it")
os.remove(path)
tap.done()
