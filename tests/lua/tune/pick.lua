-- Which of the results in a file a call takes: the one that knows more, of this driver, the later;
-- of other keys the nearest by the ratios of its numbers; and of no other source.
local store = require "cuttle.store"
local path = os.tmpname()
io.stderr = io.open("/dev/null", "w") -- luacheck: ignore 122 -- what tune says is for people

local function fill(c)
  return kernel("fill", function(x) x[threadIdx.x] = c.n end){grid = 1, block = 32}
end

local function new()
  return tune(fill, {n = {1, 2, 3, 4}}, {file = path, name = "fill", unknown = "nearest"})
end

-- What tune itself writes here.
os.remove(path)
local x = zeros(f32, 32)
local _, mine = new():tune(x)

-- The configuration that is picked if the file has these results, {n, how, driver, device, key}, in
-- this order, and in the reverse one. Each has its own identity, so all of them are in the file.
local function picked_of(list, first, last, step, ...)
  local text = {}
  for i = first, last, step do
    local row = setmetatable({}, { __index = mine })
    row.config, row.how = "n=" .. list[i][1], list[i][2] or mine.how
    row.driver, row.device, row.key = list[i][3], list[i][4], list[i][5]
    os.remove(path)
    store.add(path, { row })
    local file <close> = assert(io.open(path))
    text[#text + 1] = file:read "a"
  end
  local file <close> = assert(io.open(path, "w"))
  file:write(table.concat(text))
  file:close()
  return new():config(...).n
end

local function pick(list, ...)
  return picked_of(list, 1, #list, 1, ...), picked_of(list, #list, 1, -1, ...)
end

-- Whatever the order in the file, a measured result counts more than a partial one, and that more
-- than a prediction.
print(pick({ { 2, "measured" }, { 3, "partial" }, { 4, "predicted" } }, x)) -- expect: 2	2
print(pick({ { 2, "predicted" }, { 3, "partial" } }, x))                    -- expect: 3	3
print(pick({ { 2, "measured" }, { 3, "predicted" } }, x))                   -- expect: 2	2

-- This driver's counts more than another's, if it knows as much; of others' the later.
print(pick({ { 2, "measured", "other" }, { 3, "measured" } }, x))           -- expect: 3	3
print(pick({ { 2, "measured", "other" }, { 3, "predicted" } }, x))          -- expect: 2	2
print(pick({ { 2, "measured", "other" }, { 3, "measured", "third" } }, x))  -- expect: 3	2
print(pick({ { 2, "measured" }, { 3, "measured" } }, x))                    -- expect: 3	2

-- Another device's does not count, and its prediction does not; nor what is not in the space.
print(pick({ { 2, "measured", nil, "Z80" }, { 3, "predicted", nil, "Z80" } }, x)) -- expect: 1	1
print(pick({ { 9, "measured" }, { 2, "predicted" } }, x))                   -- expect: 2	2

-- Near are keys by ratios: 400 is nearer to 1000 than to 100.
local function f32s(n) return ("f32(%d)"):format(n) end
local keys = { { 2, nil, nil, nil, f32s(100) }, { 3, nil, nil, nil, f32s(1000) } }
print(pick(keys, zeros(f32, 400)))         -- expect: 3	3
print(pick(keys, zeros(f32, 250)))         -- expect: 2	2
print(pick(keys, zeros(f32, 100)))         -- expect: 2	2
print(pick(keys, zeros(i32, 400)))         -- expect: 1	1
print(pick(keys, zeros(f16, 400)))         -- expect: 1	1
print(pick({ { 2, "predicted", nil, nil, f32s(500) }, { 3, "measured", nil, nil, f32s(1000) } },
  zeros(f32, 400)))                        -- expect: 2	2
-- The same key counts more than a near one that knows more.
print(pick({ { 2, "predicted" }, { 3, "measured", nil, nil, f32s(33) } }, x)) -- expect: 2	2

-- What is picked while nothing can be tuned is not remembered.
os.remove(path)
local t = tune(fill, {n = {1, 2}}, {file = path, name = "fill"})
graph(function() t(x) end)
print(select(2, t:config(x)) ~= nil)       -- expect: true

-- The source follows global functions and kernels, captured or global, to their texts.
local function source_of(f) return tune(f, {n = {1}}).source end

local function changes(set)
  local f = load "return function(c) return _used end"()
  local sources = {}
  for i, text in ipairs { "return 1", "return 1", "return 2" } do
    rawset(_G, "_used", set(text))
    sources[i] = source_of(f)
  end
  rawset(_G, "_used", nil)
  return sources[1] == sources[2], sources[1] ~= sources[3]
end

local function function_of(text) return load("return function() " .. text .. " end")() end
print(changes(function_of))                -- expect: true	true
print(changes(function(text)               -- expect: true	true
  return kernel("k", function_of(text))
end))
local function captured(make)
  local sources = {}
  for i, text in ipairs { "return 1", "return 1", "return 2" } do
    local used = make(text)
    sources[i] = source_of(function() return used end)
  end
  return sources[1] == sources[2], sources[1] ~= sources[3]
end
print(captured(function_of))               -- expect: true	true
print(captured(function(text) return kernel("k", function_of(text)) end)) -- expect: true	true
os.remove(path)
