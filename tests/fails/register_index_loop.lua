-- A loop over registers needs a static trip count.
local k = kernel("counted", function(x, n)
  local r = fragment(f32, {4})
  clear(r)
  for i in range(n) do
    r[i] = x[i] -- expect error: register tensor 'r' is indexed by the variable of a loop whose trip count is not static; give the loop static bounds, or keep the data in shared memory
  end
  x[0] = r[0]
end)
k{grid = 1, block = 32}(zeros(f32, 32), 4)
