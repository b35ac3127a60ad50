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
local program <const> = [[
package.path = "scripts/?.lua;" .. package.path
local ledger = require "ledger"
ledger.note("key", "name", "result")
]]
local file <close> = assert(io.open(record .. ".lua", "w"))
file:write(program)
file:close()
os.execute(("RECORD='%s' CUTTLE_DEVICE=cpu '%s' --sm=90a '%s.lua'"):format(record, arg[-1], record))
local lines = assert(io.open(record .. ".cubins")):read "a"
tap.ok(lines:find "^%x+ sm_90 name\n$", "a result that is noted has a line", lines)
for _, ending in ipairs{ "", ".lua", ".cubins" } do os.remove(record .. ending) end
tap.done()
