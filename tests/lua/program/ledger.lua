-- The ledger of cubins vouches for the result of a text, not for another result nor for another text.
local tap = dofile "tests/support/tap.lua"
package.path = "scripts/?.lua;" .. package.path
local ledger = require "ledger"
local x = zeros(f32, 64)
local function launch(value)
  return kernel("ledger", function(t) t[threadIdx.x] = value end){ grid = 1, block = 64 }
end
local key = ledger.key(launch(1.0), x)
if key == nil then tap.skip_all "no NVRTC on this machine" end
tap.ok(ledger.key(launch(1.0), x) == key, "the same text has the same key")
tap.ok(ledger.key(launch(2.0), x) ~= key, "another has another one")
local name = "matmul f32 NT: simt 128x64x16"
tap.ok(not ledger.has(key, name, "no stack") and not ledger.has(nil, name, "no stack"),
  "a key that is not listed is not known")
local record = os.tmpname()
-- A program whose ledger is what was recorded before; the lines that are recorded then.
local prelude <const> = [[
package.path = "scripts/?.lua;" .. package.path
local open = io.open
function io.open(path, mode)
  local is_ledger = path == "tests/golden/cubins.txt"
  return open(is_ledger and os.getenv "RECORD" .. ".cubins" or path, mode)
end
local ledger = require "ledger"
]]
local function recorded(program)
  local file <close> = assert(io.open(record .. ".lua", "w"))
  file:write(prelude, program)
  file:close()
  os.execute(("RECORD='%s' CUTTLE_DEVICE=cpu '%s' --sm=90a '%s.lua'"):format(record, arg[-1],
    record))
  local lines <close> = assert(io.open(record .. ".cubins"))
  return lines:read "a"
end
local line = recorded 'ledger.note("key", "name", "result")'
tap.ok(line:find "^%x+ sm_90 name\n$", "a result that is noted has a line", line)
tap.is(recorded 'assert(ledger.has("key", "name", "result"))', line .. line,
  "and one that is known is recorded again")
tap.is(recorded 'assert(not ledger.has("key", "name", "other"))', line .. line,
  "but not another result")
for _, ending in ipairs{ "", ".lua", ".cubins" } do os.remove(record .. ending) end
tap.done()
