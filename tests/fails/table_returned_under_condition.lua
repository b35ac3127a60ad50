-- A helper that returns another table on each path.
local function pick(v)
  if v > 0.0 then
    return {1.0} -- expect error: a table is returned under a run-time condition; only numbers and booleans can differ by path
  end
  return {2.0}
end
local k = kernel("picks", function(x) x[0] = pick(x[0])[1] end)
k{grid = 1, block = 32}(zeros(f32, 32))
