-- Rows of the model for matmul and attention: operator_search.lua, and the script that makes the
-- tables. With times that are made up: what is kept of them. With the model: the script's rows.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
device "cpu"
local model = require "cuttle.predict"
local search = require "cuttle.operator_search"
local results = require "cuttle.operator_table"

-- {====== What is kept ======

local run, launch = model.run, model.launch

-- The configuration that is kept, and its time, where the model has these times on that device and,
-- for those of its launches, on an H200.
local function kept(name, times, on_h200)
  local config
  local operator = { name = "test", key = function() return "k 1" end,
    problem = function() return {} end,
    candidates = function() return {{n = 1}, {n = 2}, {n = 3}} end,
    prepared = function(_, _, c) return function() config = c.n end end }
  function model.run(f)
    f()
    local ms = times[config]
    return ms and { ms = ms, launches = {{ work = config, launches = 2 }} } or nil
  end
  function model.launch(work) return { ms = on_h200[work] / 2 } end
  local row = search.predict(operator, {}, {}, name)
  model.run, model.launch = run, launch
  return row and ("%s %g %s %s"):format(row.config, row.ms, row.device, row.how) or "none"
end

tap.is(kept("A100", {1.0, 0.9, 0.8}), "n=3 0.8 A100 predicted", "the least time")
tap.is(kept("A100", {1.0, 0.96, 2.0}), "n=1 1 A100 predicted", "a little faster is not faster")
tap.is(kept("A100", {1.0, nil, 0.5}), "n=3 0.5 A100 predicted", "what has no time is left out")
tap.is(kept("A100", {nil, 0.5, 0.5}), "none", "without a time of the rule there is no row")
tap.is(kept("H100", {1.0, 0.8, 0.8}, {1.0, 0.8, 0.9}), "n=3 0.8 H100 predicted",
  "on an H100 what gains more than on an H200, which was measured")
tap.is(kept("H100", {1.0, 0.8, 0.8}, {1.0, 0.8, 0.8}), "n=1 1 H100 predicted",
  "not what gains as much")
tap.is(kept("H100", {1.0, 0.97, 1.2}, {1.0, 1.2, 2.0}), "n=1 1 H100 predicted",
  "nor what gains little")
tap.is(kept("H100", {1.0, 0.9, 1.2}, {1.0, 1.2, 2.0}), "n=2 0.9 H100 predicted",
  "or loses on the H200")
tap.is(kept("A100", {1 / 3, 1, 1}), "n=1 0.3333 A100 predicted", "four digits")

-- {====== The script ======

local empty <const> = 'extern "C" __global__ void empty() {}'
package.path = "tests/support/?.lua;" .. package.path
if not require "cuttle.cubin".resources_of(empty, 80, "empty", {}) then
  tap.skip("the script", "no NVRTC")
  tap.done()
end

local path = os.tmpname()
os.remove(path)
local function script(words)
  return shell.cuttle("scripts/tune_operators.lua --file=%s %s", path, words)
end
local function rows()
  local file <close> = io.open(path)
  return file and results.parse(file:read "a", path) or {}
end

local out, code = script "matmul A100 L40S f16 512x512x512"
local found = rows()
tap.ok(code == 0 and #found == 2 and found[1].device == "A100" and found[2].device == "L40S"
  and found[1].key == "f16 TN 512 512 512 1" and found[1].how == "predicted", "rows of two devices",
    out)

local function shipped(row)
  for _, other in ipairs(results.shipped(row.name)) do
    if other.device == row.device and other.key == row.key then return other end
  end
end
local faults = {}
for _, row in ipairs(found) do
  local other = shipped(row)
  local ratio = other and row.ms / other.ms or 0
  if ratio < 0.8 or ratio > 1.25 then faults[#faults + 1] = ("%s: %g"):format(row.key, ratio) end
end
tap.ok(#faults == 0, "they are about those that are shipped", table.concat(faults, "\n"))

out, code = script "matmul H100 f32 NT 32x32x64"
tap.ok(code == 0 and #rows() == 2 and out:find "as the rule",
  "an H100 has none where the rule holds", out)
out, code = script "matmul A1000"
tap.ok(code == 1 and out:find("'A1000' is not one of the words", 1, true), "an unknown word", out)
os.remove(path)

-- tune into a file tells what it found, though nobody reads the file yet. Of a product it
-- compiles what the script did.
local A, B = zeros(f32, {32, 64}), zeros(f32, {32, 64})
local told = require "cuttle.matmul".tune(A, B, {file = path})
local row = rows()[1]
tap.ok(told.how == "predicted" and told.device == "H200" and told.key == row.key
  and row.config:find(told.config, 1, true), "matmul tells the row", tostring(told))
os.remove(path)
-- Kernels of attention take long to compile: from here on the model does without their registers.
function model.run(f, name) return run(f, name, {compile = false}) end
loadfile "scripts/tune_operators.lua"("--file=" .. path, "attention", "A100", "d64", "causal")
tap.ok(#rows() == 3 and rows()[1].key == "bf16 d64 causal 1 32 1 4096", "rows of attention")
os.remove(path)
local Q = zeros(bf16, row_major{1, 1, 64, 64})
told = require "cuttle.attention".tune(Q, Q, Q, {causal = true, device = "A100", file = path})
row = rows()[1]
tap.ok(told.how == "predicted" and told.device == "A100" and told.key == row.key
  and row.config:find(told.config, 1, true), "attention tells the row", tostring(told))
os.remove(path)
tap.done()
