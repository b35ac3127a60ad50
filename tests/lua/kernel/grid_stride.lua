-- Grid-stride loops: a `for` whose step is the whole grid's threads, and the same as a `while`. The sizes
-- leave a rest, and 300 elements need several turns.
local function first() return blockIdx.x * blockDim.x + threadIdx.x end
local add = {
  function(x, n) for i = first(), n - 1, gridDim.x * blockDim.x do x[i] = x[i] + i end end,
  function(x, n)
    local i = first()
    while i < n do
      x[i] = x[i] + i
      i = i + gridDim.x * blockDim.x
    end
  end,
  function(x, n)
    for i in range(first(), n, gridDim.x * blockDim.x) do x[i] = x[i] + i end
  end,
  function(x, n)
    local i, step = first(), gridDim.x * blockDim.x
    repeat
      if i >= n then break end
      x[i] = x[i] + i
      i = i + step
    until false
  end,
  function(x, n)
    for i = n - 1 - first(), 0, -64 do -- downwards the step is static
      x[i] = x[i] + i
    end
  end,
}
for n, body in ipairs(add) do
  local k = kernel("adds" .. n, body)
  for _, len in ipairs{300, 64, 1, 65} do
    local x = zeros(i32, len)
    k{grid = 2, block = 32}(x, len)
    local wrong = 0
    for i = 0, len - 1 do wrong = wrong + (x[i] == i and 0 or 1) end
    if wrong > 0 then print(n, len, wrong) end
  end
end
print "checked" -- expect: checked
