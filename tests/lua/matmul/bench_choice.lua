-- `cuttle bench matmul` times what a user's call runs: the operator chooses, unless it is told how.
local bench, operator = require "cuttle.bench_matmul", require "cuttle.matmul"
local prepare, asked = operator.prepare, nil
operator.prepare = function(A, B, C, options)
  asked[#asked + 1] = { options.config, options.split }
  return prepare(A, B, C, options)
end

local function measure(options)
  local results = {}
  asked = {}
  bench.measure(bench.problem("f32", "TN", 48, 40, 64), options, {},
    function(r) results[#results + 1] = r end)
  return results
end

local one = measure{}
print(#one, one[1].is_right, #asked, asked[1][1], asked[1][2]) -- expect: 1	true	1	nil	nil

local split = measure{split = 4, config = "cpu 32x32x8"}
print(#split, split[1].config, asked[1][1], asked[1][2])
-- expect: 1	cpu 32x32x8, K by 4	cpu 32x32x8	4

-- Of all, the chosen one comes first and once.
local all, names = measure{all = true}, {}
for i, r in ipairs(all) do
  assert(not names[r.config] and r.is_right and r.mark == (i == 1 and "*" or " "))
  names[r.config] = true
end
local _, chosen = prepare(zeros(f32, row_major{48, 64}), zeros(f32, row_major{40, 64}),
  zeros(f32, {48, 40}))
print(all[1].config == chosen, #all > 1) -- expect: true	true
