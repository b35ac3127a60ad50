-- check: gate=degree<=2
-- A column of a row-major tile lies in one bank.
local k = kernel("transpose", function(x, y)
  local s = shared(f32, row_major{32, 32})
  local i, j = threadIdx.x, threadIdx.y
  s[{j, i}] = x[{i, j}]
  sync_threads()
  y[{i, j}] = s[{i, j}] -- finds: gate: kernel 'transpose' has bank conflicts of degree 32, and the gate is degree<=2; swizzle or pad the layout; find_swizzle() searches for one
end)
k{grid = 1, block = {32, 32}}(rand(f32, {32, 32}), zeros(f32, {32, 32}))
