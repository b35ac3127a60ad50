-- table.move changes a table like any assignment.
local k = kernel("moves", function(x)
  local t = {1.0}
  if x[0] > 0.0 then
    table.move({2.0}, 1, 1, 1, t) -- expect error: a Lua table is changed under a run-time condition; make it before the 'if' in a local number, or use a fragment
  end
  x[0] = t[1]
end)
k{grid = 1, block = 32}(zeros(f32, 32))
