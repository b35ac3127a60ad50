-- The order of table.sort must be known while tracing.
local k = kernel("sorted", function(x)
  local t = {1, 2, 3}
  table.sort(t, function(a, b) return x[a] < x[b] end) -- expect error: table.sort cannot order by run-time values; write a sorting network with min and max
end)
k{grid = 1, block = 32}(zeros(f32, 32))
