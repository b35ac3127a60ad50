-- wrong_arguments.lua: round(i) calls functions that a script can reach with random values, on the host and
-- while a kernel is traced; tests/c/test_wrong_arguments.c runs it. Globals that it looks at: SEED;
-- INTERNAL, the library's own functions, which are called too when they are there; VERBOSE, which
-- prints each call before it is made.
-- luacheck: globals SEED INTERNAL VERBOSE round
local random, pack, unpack = math.random, table.pack, table.unpack

local CALLS <const> = 40      -- of a round, and of a trace in it
local MOST_VALUES <const> = 64 -- that are kept for later calls
local MOST_ARGUMENTS <const> = 5

-- Lua's own, which are called with values of any kind by Lua's tests; what of them is ours is added.
local lua_libraries = { "string", "table", "math", "utf8", "coroutine", "package" }
local ours = { "print", "load", "require" }

-- {====== What there is to call ======

local functions, names, receivers, seen = {}, {}, {}, {}

local function add(f, name, receiver)
  if seen[f] then return end
  seen[f] = true
  functions[#functions + 1] = f
  names[f], receivers[f] = name, receiver
end

local visit

local function sorted_keys(t)
  local keys = {}
  for key in next, t do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

local function visit_meta(x, name, receiver)
  local meta = getmetatable(x)
  if type(meta) == "table" then visit(meta, name .. "<meta>", receiver or x) end
end

function visit(x, name, receiver)
  if type(x) == "function" then return add(x, name, receiver) end
  if type(x) == "userdata" then return visit_meta(x, name) end
  if type(x) ~= "table" or seen[x] then return end
  seen[x] = true
  for _, key in ipairs(sorted_keys(x)) do visit(rawget(x, key), name .. "." .. key, receiver) end
  visit_meta(x, name, receiver)
end

local function skip_lua()
  for _, library in ipairs(lua_libraries) do seen[_G[library]] = true end
  for _, name in ipairs(sorted_keys(_G)) do
    if type(_G[name]) == "function" and require "cuttle"[name] == nil then seen[_G[name]] = true end
  end
  for _, name in ipairs(ours) do seen[_G[name]] = nil end
end

-- {====== Values ======

local function scale(x) x[threadIdx.x] = x[threadIdx.x] * 2.0 end

local x32 = zeros(f32, 64)
local k32 = kernel("scale", scale)
local launch = k32{grid = 1, block = 32}

local integers = { 0, 1, -1, 2, 3, 7, 8, 31, 32, 33, 64, 255, 256, 1024, 65535, 65536, 2147483647,
  2147483648, -2147483648, 4294967295, 4294967296, 1 << 40, 1 << 62, math.maxinteger,
  math.mininteger }
local floats = { 0.0, -0.0, 0.5, 1.5, -2.0, 1 / 0, -1 / 0, 0 / 0, 1e308, 2.0 ^ 53, 2.0 ^ 63,
  -2.0 ^ 63 }
local texts = { "", "a", "x", "add", "max", "(4,8)", "(4,8):(8,1)", "(4,(2,3)):(1,(4,8))",
  "Sw<3,3,3> o 0 o 64:1", "(M,K)", "f32", "f16", "i32", "%d", "%s %s", "%", "%-5.3f", "cpu", "cuda",
  "\0", "\xff\xfe", "9223372036854775807", "(9223372036854775807,2)", "(_,2)", "1,2,3",
  "SM80_16x8x8_F32TF32TF32F32_TN", "UniversalCopy<u128>", "return 1",
  "return function(x) x[0] = 1.0 end", ("x"):rep(5000), ("("):rep(300) }
local dtypes = { f32, f64, f16, bf16, i8, u8, i32, u32, i64, bool }

local function one_of(list) return list[random(#list)] end
local function raise() error "a callback" end
local function same(...) return ... end

-- The same at each use.
local constants = {
  raise, same, print, scale, x32, k32, launch, _, guard, threadIdx, blockDim, true, false,
  L"((2,2),3):((1,2),4)", layout{4, 8}, layout({ 1 << 31, 1 << 31 }, { 0, 1 }), swizzle(2, 0, 3),
  composition(swizzle(3, 3, 3), row_major{64, 64}), ones(f16, "(4,8):(8,1)"), arange(i32, 10),
  zeros(f64, "(2,3):(0,1)"), zeros(u8, 0), zeros(f32, { 4, 1, 2, 2 }), i64(7), static(3), E(0),
  k32:prepare{grid = 1, block = 32}(x32), atom "SM80_16x8x8_F32TF32TF32F32_TN",
  atom("UniversalCopy<u128>", f16), tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN"),
  tiled_copy(atom("UniversalCopy<u32>", f32), { 8, 4 }, { 1, 1 }),
}

local function with_meta(meta) return setmetatable({}, meta) end

-- New at each use.
local makers = {
  function() return nil end,
  function() return one_of(integers) end,
  function() return random(0, 9) end,
  function() return one_of(floats) end,
  function() return one_of(texts) end,
  function() return one_of(dtypes) end,
  function() return one_of(functions) end,
  function() return {} end,
  function() return { random(0, 9) } end,
  function() return { random(0, 9), random(0, 9) } end,
  function() return { { 1, 2 }, { 3, 4 } } end,
  function() return { one_of(integers), one_of(integers) } end,
  function() return { grid = 1, block = 32 } end,
  function() return { [one_of(texts)] = one_of(integers), dtype = f32, text = true } end,
  function()
    local t = {}
    t[1] = t
    return t
  end,
  function() return with_meta { __index = same, __len = same, __call = same } end,
  function() return with_meta { __index = raise, __len = raise, __tostring = raise } end,
  function() return with_meta { __index = function(t) return t end, __close = raise } end,
  function() return zeros(one_of(dtypes), 8) end,
  function()
    local t = zeros(f32, 8)
    t:close()
    return t
  end,
  function() return coroutine.create(function() coroutine.yield(1) end) end,
  function() return coroutine.wrap(function() coroutine.yield(1) end) end,
  function() return getmetatable(one_of { x32, layout{4}, f32, k32, launch, swizzle(1, 0, 1) }) end,
}

local function a_value()
  return random(2) == 1 and one_of(constants) or one_of(makers)()
end

-- Results of earlier calls and values of kernels that are traced no more; those of the one that is.
local kept, here = {}, {}

local function keep(value)
  if value ~= nil then kept[#kept < MOST_VALUES and #kept + 1 or random(MOST_VALUES)] = value end
end

local function argument()
  if #here > 0 and random(2) == 1 then return one_of(here) end
  if #kept > 0 and random(4) == 1 then return one_of(kept) end
  local ok, value = pcall(a_value)
  if ok then return value end
end

-- {====== Calls ======

-- Not where the call is part of the kernel: what prints there is refused.
local function describe(f, args)
  local out = {}
  for i = 1, args.n do
    local ok, text = pcall(tostring, args[i])
    out[i] = ok and #text < 60 and text or type(args[i])
  end
  print(names[f] .. "(" .. table.concat(out, ", ") .. ")")
end

local function call_one(is_silent)
  local f = one_of(functions)
  local args = { n = random(0, MOST_ARGUMENTS) }
  for i = 1, args.n do args[i] = argument() end
  if receivers[f] ~= nil and args.n > 0 and random(3) > 1 then args[1] = receivers[f] end
  if VERBOSE and not is_silent then describe(f, args) end
  local results = pack(pcall(f, unpack(args, 1, args.n)))
  if results[1] then
    for i = 2, math.min(results.n, 4) do keep(results[i]) end
  end
end

local operators = {
  function(a, b) return a + b end,
  function(a, b) return a // b end,
  function(a, b) return a << b end,
  function(a) return #a end,
  function(a) return -a end,
  function(a, b) return a .. b end,
  function(a, b) return a[b] end,
  function(a, b, c) a[b] = c end,
  function(a, b) return a(b) end,
  function(a, b, c) return a(b, c) end,
  function(a, b) return a < b end,
  function(a, b) return a == b end,
  function(a) return tostring(a) end,
  function(a) local closed <close> = a end, -- luacheck: ignore 211
  function(a)
    for i in pairs(a) do
      if i then break end
    end
  end,
  function(a)
    local i = 0
    for _ in a do
      i = i + 1
      if i == 4 then break end
    end
  end,
}

local function operate() pcall(one_of(operators), argument(), argument(), argument()) end

local function on_host()
  for _ = 1, CALLS do
    call_one()
    operate()
  end
end

local static_call = static_fn(function()
  call_one()
  return 0
end)

local function while_traced()
  local traced = kernel("traced", function(x, y, z)
    local s, r = shared(f32, { 4, 4 }), fragment(f32, 4)
    here[1], here[2], here[3], here[4], here[5] = x, y, z, x[0], threadIdx.x
    here[6], here[7], here[8], here[9] = s, r, tile(x, { 4 }, { 0 }), x[threadIdx.x] > 1.0
    for i in unroll(CALLS) do
      pcall(i % 2 == 0 and call_one or static_call, true)
      pcall(operate)
    end
    x[0] = y
  end)
  local _, why = pcall(traced{grid = 1, block = 32}, zeros(f32, 64), random(9), 2.5)
  if VERBOSE and why then print("traced", why) end
  for _, value in ipairs(here) do keep(value) end
  here = {}
end

-- {====== Rounds ======

skip_lua()
for _, name in ipairs(sorted_keys(package.preload)) do
  local ok, module = pcall(require, name)
  if ok and not name:find "bench" then visit(module, name) end -- those take seconds each
end
visit(_G, "_G")
for _, value in ipairs(constants) do visit(value, "value") end
if INTERNAL then visit(INTERNAL, "internal") end

local globals = {}
for key, value in next, _G do globals[key] = value end

-- What a call has made of the globals does not last.
local function restore_globals()
  for key in next, _G do
    if globals[key] == nil then _G[key] = nil end
  end
  for key, value in next, globals do _G[key] = value end
end

function round(i)
  math.randomseed(SEED, i)
  kept, here = {}, {}
  for _ = 1, 4 do
    if random(3) == 1 then on_host() else while_traced() end
    restore_globals()
  end
end
globals.round = round
