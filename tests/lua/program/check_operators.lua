-- `check` finds nothing in the library's operators as they are, dependent launches among them: those that
-- scripts/mutate_sync.lua changes. The slowest are checked by tests of their own.
package.path = "scripts/?.lua;" .. package.path
local check = require "cuttle.check"
local operators = require("mutate_sync_subjects").operators
local tap = dofile "tests/support/tap.lua"

local slow <const> = { -- tests/lua/mesh/matmul_scatter.lua, tests/lua/attention/backward.lua
  ["matmul_scatter"] = true, ["attention_backward hopper"] = true,
  ["attention_backward hopper, causal"] = true,
}

local names = {}
for name in pairs(operators) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  if not slow[name] then
    local findings, launches, ok, message = check.run(operators[name])
    tap.ok(ok and launches > 0 and #findings == 0, name, message, check.report(findings, launches))
    device "cpu"
  end
end
tap.done()
