-- check: gate=degree<=2
-- One element more in each row: a column lies in 32 banks.
local k = kernel("transpose", function(x, y)
  local s = shared(f32, layout("(32,32):(33,1)"))
  local i, j = threadIdx.x, threadIdx.y
  s[{j, i}] = x[{i, j}]
  sync_threads()
  y[{i, j}] = s[{i, j}]
end)
k{grid = 1, block = {32, 32}}(rand(f32, {32, 32}), zeros(f32, {32, 32}))
