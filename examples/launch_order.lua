-- launch_order.lua: launches in sequence, and what `cuttle check` finds if their order is missing.
-- Batches are normalised in two streams: the main one sums each row into a workspace, the other one
-- divides the rows by the sums. There are two workspaces, so a sum may run beside the division
-- before it. The same work follows as a graph, and with a dependent launch (`pdl`).
-- Usage: cuttle launch_order.lua [FAULT]
--
--   cuttle check examples/launch_order.lua            all is in order
--   cuttle check examples/launch_order.lua wait       the division does not wait for the sums
--   cuttle check examples/launch_order.lua reuse      a workspace that may still be read is written
--   cuttle check examples/launch_order.lua branch     a branch of the graph does not wait
--   cuttle check examples/launch_order.lua early      the dependent launch reads before it waits
--
-- On the CPU engine each launch ends before the next one begins, so results are right in all cases;
-- on a GPU, in most.
local fault = arg[1] or "none"
local n_batches, n_rows, n = 6, 8, 64

local sum_rows = kernel("sum_rows", function(x, sums)
  local sum = block_reduce(x[{threadIdx.x, blockIdx.x}], "add")
  if threadIdx.x == 0 then sums[blockIdx.x] = sum end
end)

local divide_rows = kernel("divide_rows", function(x, sums, y)
  y[{threadIdx.x, blockIdx.x}] = x[{threadIdx.x, blockIdx.x}] / sums[blockIdx.x]
end)

-- The same as a dependent launch: what does not need the sums comes before the wait.
local divide_rows_early = kernel("divide_rows_early", function(x, sums, y)
  local v = x[{threadIdx.x, blockIdx.x}]
  local early = fault == "early" and sums[blockIdx.x] or 1.0
  grid_dependency_wait()
  y[{threadIdx.x, blockIdx.x}] = v / (fault == "early" and early or sums[blockIdx.x])
end)

local side, summed, divided = stream(), event(), { event(), event() }
local x, y, sums = {}, {}, { zeros(f32, n_rows), zeros(f32, n_rows) }
for i = 1, n_batches do
  x[i], y[i] = full(f32, {n, n_rows}, i), zeros(f32, {n, n_rows})
end

-- The launches of a batch; the workspace was last used two batches before.
local function normalise(i, has_run, waits)
  local slot = i % 2 + 1
  if has_run and fault ~= "reuse" then divided[slot]:wait() end
  sum_rows{grid = n_rows, block = n}(x[i], sums[slot])
  summed:record()
  if waits then side:wait(summed) end
  divide_rows{grid = n_rows, block = n, stream = side}(x[i], sums[slot], y[i])
  divided[slot]:record(side)
end

local n_wrong = 0
local function verify(what)
  synchronize()
  for i = 1, n_batches do
    for _, values in ipairs(y[i]:totable()) do
      for _, v in ipairs(values) do n_wrong = n_wrong + (v == 1 / n and 0 or 1) end
    end
    clear(y[i])
  end
  print(("%s: %s"):format(what, n_wrong == 0 and "correct" or n_wrong .. " wrong elements"))
end

for i = 1, n_batches do normalise(i, i > 2, fault ~= "wait") end
verify "two streams"

local batches = graph(function()
  for i = 1, n_batches do normalise(i, i > 2, fault ~= "branch") end
  divided[1]:wait()
  divided[2]:wait()
end)
batches()
batches()
verify "a graph with two branches"

local has_pdl = device().sm == nil or device().sm >= 90
for i = 1, n_batches do
  sum_rows{grid = n_rows, block = n}(x[i], sums[1])
  divide_rows_early{grid = n_rows, block = n, pdl = has_pdl}(x[i], sums[1], y[i])
end
verify "dependent launches"
print(n_wrong == 0 and "correct" or "wrong")
os.exit(n_wrong == 0, true)
