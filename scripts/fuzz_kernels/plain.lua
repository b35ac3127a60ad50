-- plain.lua: a kernel by plain Lua, once for each thread.
-- Numbers stand for threadIdx, tables for tensors, and coroutines for the lanes of a warp.
local GRID <const>, BLOCK <const> = ...

-- A tensor that plain Lua understands: t[i], t[{i, j}], t(i, j), t[i] = v.
local function proxy(data, extent)
  local function at(_, i, j) return data[i + (j or 0) * extent + 1] end
  return setmetatable({}, {
    __index = function(_, key)
      if type(key) == "table" then return at(nil, key[1], key[2]) end
      return data[key + 1]
    end,
    __newindex = function(_, key, value) data[key + 1] = value end,
    __call = at,
  })
end

local function count(first, stop)
  if not stop then first, stop = 0, first end
  local i = first - 1
  return function()
    i = i + 1
    if i < stop then return i end
  end
end

-- Rounding as plain Lua has it; the sign of a zero is that of x.
local function truncated(x)
  if x < 0 then return -(-x // 1) end
  return x // 1
end
local function rounded(x)
  local t = truncated(x)
  return math.abs(x - t) >= 0.5 and t + (x < 0 and -1.0 or 1.0) or t
end
local function to_even(x)
  local t = truncated(x)
  local far = math.abs(x - t)
  return (far > 0.5 or far == 0.5 and t % 2 == 1) and t + (x < 0 and -1.0 or 1.0) or t
end

local environment = {
  trunc = truncated, round = rounded, rint = to_even,
  math = math, ipairs = ipairs, setmetatable = setmetatable, coroutine = coroutine, pcall = pcall,
  select = select, min = math.min, max = math.max, abs = math.abs,
  local_array = function(_, n) return proxy({}, n) end,
  dynamic = function(v) return v end,
  range = count, unroll = count, blockDim = { x = BLOCK }, gridDim = { x = GRID },
  floor = function(x) return x // 1 end,
  ceil = function(x) return -(-x // 1) end,
  where = function(c, x, y) if c then return x end return y end,
}

-- Lanes of a warp are coroutines. An operation of several lanes yields what it asks for; it is done when
-- all lanes of its mask ask for the same.
local function bits(lanes, f)
  local r = 0
  for lane in pairs(lanes) do r = f(lane) and r | 1 << lane or r end
  return r
end

-- Combines the values of the lanes up to `last`, in their order.
local function combined(asks, lanes, op, last)
  local r
  for lane = 0, last do
    local v = lanes[lane] and asks[lane].value
    if v then r = r and op(r, v) or r or v end
  end
  return r
end

local word_ops = {
  add = function(a, b) return a + b end, min = math.min, max = math.max,
  ["and"] = function(a, b) return a & b end, ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
}

local function equal_lanes(asks, lanes, lane)
  return bits(lanes, function(l) return asks[l].value == asks[lane].value end)
end

-- What a lane gets, of what the lanes of its group ask for.
local answers = {
  ballot = function(asks, lanes) return bits(lanes, function(l) return asks[l].value end) end,
  vote_any = function(asks, lanes) return bits(lanes, function(l) return asks[l].value end) ~= 0 end,
  vote_all = function(asks, lanes) return bits(lanes, function(l) return not asks[l].value end) == 0 end,
  match_any = equal_lanes,
  match_all = function(asks, lanes, lane)
    local all = bits(lanes, function() return true end)
    local same = equal_lanes(asks, lanes, lane) == all
    return same and all or 0, same
  end,
  warp_reduce = function(asks, lanes, lane)
    return combined(asks, lanes, word_ops[asks[lane].by], BLOCK - 1)
  end,
  warp_scan = function(asks, lanes, lane) return combined(asks, lanes, word_ops[asks[lane].by], lane) end,
  sync_warp = function() end,
}
for kind, source in pairs {
  up = function(lane, by) return lane - by end, down = function(lane, by) return lane + by end,
  xor = function(lane, by) return lane ~ by end, idx = function(_, by) return by end,
} do
  answers["shfl_" .. kind] = function(asks, lanes, lane)
    local from = source(lane, asks[lane].by)
    return asks[lanes[from] and from or lane].value
  end
end
for name in pairs(answers) do
  local has_by = name:find "shfl" or name == "warp_reduce" or name == "warp_scan"
  environment[name] = function(value, by, options)
    if not has_by then options = by end
    if name == "sync_warp" then options = value end
    return coroutine.yield { name = name, value = value, by = by, mask = options and options.mask }
  end
end
environment.popc = function(v)
  local n = 0
  while v ~= 0 do v, n = v & v - 1, n + 1 end
  return n
end
environment.ffs = function(v)
  for i = 0, 31 do
    if v >> i & 1 == 1 then return i + 1 end
  end
  return 0
end

-- The lanes that a lane's operation is for, as a set: nil if not all of them are there yet.
local function group_of(asks, alive, lane)
  local ask, lanes = asks[lane], {}
  for l in pairs(alive) do
    if not ask.mask or ask.mask >> l & 1 == 1 then
      local other = asks[l]
      if not other or other.name ~= ask.name or other.mask ~= ask.mask then return nil end
      lanes[l] = true
    end
  end
  return lanes
end

local function run_warp(first, start)
  local threads, asks, alive, given = {}, {}, {}, {}
  for lane = 0, BLOCK - 1 do threads[lane], alive[lane], given[lane] = coroutine.create(start), true, {} end
  while next(alive) do
    local moved = false
    for lane = 0, BLOCK - 1 do
      if given[lane] then
        environment.threadIdx, environment.blockIdx = { x = lane }, { x = first // BLOCK }
        local good, ask = coroutine.resume(threads[lane], table.unpack(given[lane]))
        if not good then error(ask, 0) end
        asks[lane], given[lane], moved = ask, nil, true
        if not ask then alive[lane] = nil end
      end
    end
    for lane in pairs(alive) do
      local lanes = asks[lane] and group_of(asks, alive, lane)
      for l in pairs(lanes or {}) do given[l] = { answers[asks[l].name](asks, lanes, l) } end
      for l in pairs(lanes or {}) do asks[l] = nil end
    end
    if not moved then error "lanes wait for each other" end
  end
end

-- Runs the program `text` on tables.
local function run(text, x, y, m, ints, floats, n)
  for first = 0, GRID * BLOCK - 1, BLOCK do
    run_warp(first, function()
      local f = load(text, "=program", "t", environment)()
      f(proxy(x), proxy(y), proxy(m, 4), proxy(ints), proxy(floats), n)
    end)
  end
end

return { run = run }
