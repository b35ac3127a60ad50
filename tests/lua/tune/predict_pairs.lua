-- Predicted times order pairs of a shape and a configuration as one H200 did, 2026-11-23. The counts
-- are those of `scripts/bench/tune_model.lua counts FILE --each=8`.
package.path = "scripts/bench/?.lua;" .. package.path
local devices = require "cuttle.profile_device"
local predict = require "cuttle.predict"
local ranks = require "tune_ranks"

local file <close> = assert(io.open("tests/support/predicted_pairs.txt"))
local pairs_of = assert(load(file:read("a"), "=predicted_pairs.txt", "t", {}))()

local function predicted(pair)
  local ms = 0
  for _, work in ipairs(pair.launches) do
    ms = ms + predict.launch(work, devices.find("H200")).ms
  end
  return ms
end

for _, pair in ipairs(pairs_of) do pair.predicted = predicted(pair) end
print(#pairs_of >= 50) -- expect: true
local rank, ratio = ranks.agreement(pairs_of)
print(rank >= 0.95, ratio > 0.8 and ratio < 1.25) -- expect: true	true
for _, group in ipairs(ranks.groups(pairs_of, function(pair) return pair.kernel end)) do
  print(group.name, #group > 1 and ranks.agreement(group) >= 0.8)
end
-- expect: hopper	true
-- expect: simt	true
-- expect: mma	true
-- expect: softmax	true
-- expect: stencil	true

-- Known answers of what compares orders.
print(ranks.spearman({ 1, 2, 3, 4 }, { 10, 30, 20, 40 })) -- expect: 0.8
print(ranks.loss({ { ms = 2, predicted = 1 }, { ms = 1, predicted = 2 } }, 1)) -- expect: 1.0
