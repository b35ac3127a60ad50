-- A table of an earlier trace is older than each condition of this one.
local kept = {}
local first = kernel("first", function(x)
  for i = 1, 20 do kept.t = {i} end
  x[0] = 0.0
end)
first{grid = 1, block = 32}(zeros(f32, 32))
local second = kernel("second", function(x)
  if x[0] > 0.0 then
    kept.t[1] = 5 -- expect error: a Lua table is changed under a run-time condition; make it before the 'if' in a local number, or use a fragment
  end
end)
assert(kept.t[1] == 20)
second{grid = 1, block = 32}(zeros(f32, 32))
