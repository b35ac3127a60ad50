-- json.decode beside Python's reader: both take the same texts, and read the same from them. The
-- texts are random values, of which most were damaged by a character or two.
local json = require "cuttle.json"
local tap = dofile "tests/support/tap.lua"

if os.execute "command -v python3 >/dev/null 2>&1" ~= true then tap.skip_all "no python3 here" end

local path = os.tmpname()
assert(os.execute(("python3 tests/support/json_texts.py %s"):format(path)))
local file <close> = assert(io.open(path, "rb"))

-- Objects and empty lists look alike as tables, so both sides are compared as text.
local function shown(value)
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  if value == json.null then return "null" end
  local names, parts = {}, {}
  for name in pairs(value) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    parts[i] = ("%s=%s"):format(math.type(name) and name or ("%q"):format(name), shown(value[name]))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local n, n_taken, fault = 0, 0, nil
for text, expected in file:read("a"):gmatch "(.-)\0(.-)\0" do
  local value = json.decode(text)
  local got = value == nil and "refused" or "taken"
  local want = expected == "" and "refused" or "taken"
  local is_same = got == want
  if is_same and value ~= nil then
    -- What Python read, written by it without anything that could be read in two ways.
    local read = load("local null, F = ... return " .. expected, "=python", "t")
    is_same = shown(value) == shown(read(json.null, function(x) return x * 1.0 end))
    n_taken = n_taken + 1
  end
  n = n + 1
  fault = fault or not is_same and ("%q: %s, expected %s"):format(text, value and shown(value)
    or got, expected)
end
os.remove(path)
tap.ok(not fault, ("%d texts, %d of them JSON, are read as Python reads them"):format(n, n_taken),
  fault)
tap.ok(n == 4000 and n_taken > 800 and n - n_taken > 800, "there are enough of both",
  ("%d, %d"):format(n, n_taken))
tap.is(json.encode_line { 1 / 0, -1 / 0, 0 / 0, {}, json.object, json.null },
  "[1e999,-1e999,null,[],{},null]", "numbers that JSON lacks, and what is empty")
tap.is(select(2, json.decode "[1,]"), "a number was expected at byte 4", "what is wrong, and where")
tap.is(select(2, json.decode "{} x"), "more text after the value at byte 4", "more text")
tap.done()
