-- What benchmarks take for right where shares of ranks are added (ranks_sums.lua): shares that nearly
-- cancel each other. A sum that is rounded once, and one that is rounded at each rank.
local ct = require "cuttle"
package.path = "scripts/bench/?.lua;" .. package.path
local sums = require "ranks_sums"
ct.device "cpu:4"
local shares <const> = { 137, -171, -80.5, 110.5 } -- of ranks 0 to 3; all of them: -4
local m = ct.mesh{rank = 4}

local function filled(number)
  local t = ct.tensor(ct.bf16, ct.row_major{8, 16})
  t:fill(number)
  return t
end

-- By rank: its sums; which other results are far from right.
local texts = m:run(function(r)
  local panels = sums.panels(r, filled(shares[r.rank + 1]))
  local want = sums.want(panels, r.rank, ct.tensor(ct.bf16, ct.row_major{2, 16}))
  local list = { want[{1, 15}] }
  local function count(number)
    local y = ct.tensor(ct.bf16, ct.row_major{2, 16})
    y:fill(number)
    list[#list + 1] = sums.count_far(panels, y, 5)
  end
  count(-5)                                            -- as NCCL's ring has it on rank 0
  for _, share in ipairs(shares) do count(-4 - share) end
  count(0 / 0)
  r:barrier()
  return table.concat(list, " ")
end)
for rank = 0, 3 do print(texts[rank]) end
-- expect: -4.0 0 32 32 32 32 32
-- expect: -4.0 0 32 32 32 32 32
-- expect: -4.0 0 32 32 32 32 32
-- expect: -4.0 0 32 32 32 32 32

-- Numbers without a period: no row of 64 comes again, as those of a product's operands did.
local data = require "data"
local x, seen, n_again = data.uniform(ct.tensor(ct.bf16, 1 << 13), 3), {}, 0
for i = 0, (1 << 7) - 1 do
  local row = {}
  for j = 0, 63 do
    row[j + 1] = x[64 * i + j]
    assert(math.abs(x[64 * i + j]) <= 1)
  end
  local text = table.concat(row, " ")
  n_again = n_again + (seen[text] and 1 or 0)
  seen[text] = true
end
print(n_again)                                         -- expect: 0
print(x[0] ~= data.uniform(ct.tensor(ct.bf16, 4), 4)[0]) -- expect: true
