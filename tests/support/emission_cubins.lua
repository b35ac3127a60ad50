-- emission_cubins.lua SM [all]: compiles the kernels of emission_kernels.lua for a GPU, with the last
-- of the variants or with all of them: "kernel | variant | registers; the hot loop" in each line. What
-- tests/golden/emission.txt says of a text that the ledger knows is not compiled again.
package.path = "scripts/?.lua;" .. package.path
local ledger = require "ledger"
local loops = require "hot_loops"
local emission = dofile "tests/support/emission_kernels.lua"
local sm, wants_all = tonumber(arg[1]), arg[2] == "all"

local N_SMALL <const> = 3 -- the first kernels compile fast: these take all variants, others each fifth

local known = {}
for line in io.lines "tests/golden/emission.txt" do
  local name, code = line:match "^(.-) = (.*)$"
  known[name] = code
end

local function code_of(k)
  local source = k.launch:source(table.unpack(k.args))
  local symbol = source:match "__launch_bounds__%b()%s*([%w_]+)%("
  local cubin = k.launch:cubin(table.unpack(k.args))
  return ("%d registers; %s"):format(loops.resources(cubin, symbol), loops.text(cubin, symbol))
end

local function report(k, variant)
  local name = ("%s | %s"):format(k.name, variant)
  local key = ledger.key(k.launch, table.unpack(k.args))
  local entry = ("emission %d: %s"):format(sm, name)
  local code = known[entry]
  if not (code and ledger.has(key, entry, code)) then code = code_of(k) end
  ledger.note(key, entry, code)
  ledger.keep("emission", ("%s = %s"):format(entry, code))
  print(("%s | %s"):format(name, code))
end

for _, k in ipairs(emission.kernels(nil, sm)) do report(k, "") end
local n = #emission.variants
for i, variant in ipairs(emission.variants) do
  for j, k in ipairs(emission.kernels(variant, sm)) do
    local is_wanted = i == n or wants_all and (j <= N_SMALL or i % 5 == 1)
    if is_wanted then report(k, emission.text(variant)) end
  end
end
