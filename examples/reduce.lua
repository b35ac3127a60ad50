-- reduce.lua: the sum of a vector in one launch. Each block works until the end of the sum. Each
-- thread has four 16-byte reads in flight and as many running sums; then shuffles add up the
-- block's threads, and the block that finishes last adds up the blocks. The order of additions is
-- fixed, so the result is the same in every run. Usage: cuttle reduce.lua [N]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or (on_gpu and 1 << 30 or 1000003))
local n_threads, n_vec, n_deep = on_gpu and 1024 or 128, 4, 4
local n_blocks = on_gpu and 2 * 132 or 8
local n_turn = n_vec * n_threads * n_deep                  -- elements of a block's turn

local sum = kernel("sum", function(x, partial, done, result)
  local t = threadIdx.x
  local r, acc = fragment(f32, {n_vec, n_deep}), fragment(f32, n_deep)
  local is_last = shared(bool, 1)
  local n_turns = size(x) // n_turn
  local turns = view(x, layout{n_vec, n_threads, n_deep, n_turns})
  clear(acc)
  for k in range(blockIdx.x, n_turns, gridDim.x) do
    copy(turns(_, t, _, k), r)
    for j = 0, n_deep - 1 do
      acc[j] = acc[j] + ((r[{0, j}] + r[{1, j}]) + (r[{2, j}] + r[{3, j}]))
    end
  end
  local i = n_turns * n_turn + blockIdx.x * n_threads + t  -- what no turn covers
  while i < size(x) do
    acc[0] = acc[0] + x[i]
    i = i + gridDim.x * n_threads
  end
  local all = block_reduce(reduce(acc, "add"), "add")
  if t == 0 then
    partial[blockIdx.x] = all
    fence()                                                -- before others learn that it is there
    is_last[0] = atomic_add(done, 0, 1) == gridDim.x - 1
    fence()                                                -- before it tells its block that all are
  end
  sync_threads()
  if is_last[0] then
    local v = block_reduce(t < gridDim.x and partial[t] or 0.0, "add")
    if t == 0 then
      result[0] = v
      done[0] = 0                                          -- for the next launch
    end
  end
end)

local function make(n, blocks)
  local x = rand(f32, n)
  local partial, done, result = zeros(f32, blocks), zeros(i32, 1), zeros(f32, 1)
  local launch = sum:prepare{grid = blocks, block = n_threads}(x, partial, done, result)
  return x, result, launch
end

-- Against a sum in double precision, on sizes with and without a rest.
local ok = true
for _, n in ipairs{n_turn * 3, 1, n_turn + 1, 100003} do
  local x, result, launch = make(n, math.min(n_blocks, 5))
  local values, want = x:totable(), 0.0
  if type(values) == "number" then values = {values} end
  for i = 1, n do want = want + values[i] end
  launch()
  launch()                                                 -- `done` is as before
  local err = math.abs(result[0] - want) / math.max(want, 1)
  ok = ok and err < 1e-5
end
local x, result, launch = make(N, n_blocks)
launch()
local ms = bench(launch)
local mean = result[0] / N
ok = ok and math.abs(mean - 0.5) < 0.01
print(("sum of %d floats on %s: %s, mean %.6f"):format(N, device().name,
  ok and "correct" or "wrong", mean))
print(("%.4f ms, %.1f GB/s"):format(ms, 4 * N / ms * 1e-6))
x:close()
os.exit(ok, true)
