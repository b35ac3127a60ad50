-- Files of results after random damage. What is read is a result, every other line stays, and what
-- is added is found again.
local shell = dofile "tests/support/shell.lua"
local store = require "cuttle.store"
local SEED <const>, ROUNDS <const> = 1, 300
local path = os.tmpname()
math.randomseed(SEED)

local function pick(list) return list[math.random(#list)] end

local hows <const> = { "measured", "partial", "predicted" }
local texts <const> = { "", "a=1", "bM=64 s={1,2}", "\27[2J", "\\x", "\\x0", "\\xzz", "# none",
                        "ö", "\0", "\t", "%s%n" }

local function result()
  return { name = pick(texts), how = pick(hows), ms = math.random() * 10 ^ math.random(-12, 12),
           device = pick(texts), driver = pick(texts), key = pick(texts), config = pick(texts),
           source = ("%016x"):format(math.random(0)) }
end

local pieces <const> = { "\t", "\n", "\r\n", "#", "\0", "\\x09", "1e400", "nan", "-0", "0x1p3",
                         "measured", ("\t"):rep(9), ("9"):rep(400), "\xff" }

local changes <const> = {
  function(s, i, j) return s:sub(1, i - 1) .. s:sub(j) end,
  function(s, i) return s:sub(1, i) end,
  function(s, i) return s:sub(1, i) .. pick(pieces) .. s:sub(i + 1) end,
  function(s, i, j) return s:sub(1, j) .. s:sub(i) end,
  function(s, i) return s:sub(1, i) .. string.char(math.random(0, 255)) .. s:sub(i + 2) end,
}

local function changed(text)
  for _ = 1, math.random(0, 4) do
    local i = math.random(0, #text)
    text = pick(changes)(text, i, math.random(i, math.min(#text, i + 40)))
  end
  return text
end

local function file_with(text) shell.write_file(path, text) end

local function is_result(row)
  local is_known = row.how == "measured" or row.how == "partial" or row.how == "predicted"
  local is_time = math.type(row.ms) ~= nil and row.ms >= 0 and row.ms < math.huge
  return is_known and is_time and row.source:find "^%x+$" and #row.source == 16
    and row.name and row.device and row.driver and row.key and row.config
end

local function find(rows, new)
  for _, row in ipairs(rows) do
    local is_same = row.key == new.key and row.device == new.device and row.driver == new.driver
    if is_same and row.source == new.source and row.config == new.config then return true end
  end
end

-- Lines that are no results, as often as they are there.
local function others_of(text)
  local n = {}
  local _, faults = store.parse(text)
  local number, bad = 0, {}
  for _, fault in ipairs(faults) do bad[fault.line] = true end
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    if bad[number] then n[line:gsub("\r$", "")] = true end
  end
  return n
end

local wrong = {}
local function hold(truth, what) wrong[what] = (wrong[what] or 0) + (truth and 0 or 1) end

local function try(before, new)
  for _, row in ipairs(store.read(path)) do
    hold(is_result(row), "what is read is a result")
  end
  hold(store.add(path, { new }), "a result can be added")
  hold(find(store.read(path), new), "it is found again")
  local after = others_of(store.text(path))
  for line in pairs(others_of(before)) do hold(after[line], "a line that is no result stays") end
  hold(type(store.table(store.read(path))) == "string", "the table of them is a string")
end

local n_foreign = 0
for _ = 1, ROUNDS do
  os.remove(path)
  local some, new = {}, result()
  for i = 1, math.random(0, 4) do some[i] = result() end
  assert(store.add(path, some))
  local before = changed(assert(store.text(path)))
  file_with(before)
  if store.read(path) then
    try(before, new)
  else -- neither a result nor the head is left
    hold(not store.add(path, { new }) and store.text(path) == before, "a foreign file stays")
    n_foreign = n_foreign + 1
  end
end
os.remove(path)

local names = {}
for name in pairs(wrong) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do print(wrong[name], name) end
-- expect: 0	a foreign file stays
-- expect: 0	a line that is no result stays
-- expect: 0	a result can be added
-- expect: 0	it is found again
-- expect: 0	the table of them is a string
-- expect: 0	what is read is a result
print(n_foreign > 0) -- expect: true
