local k = kernel("k", function(x)
  local none = function() end
  pipeline(size(x), {load = none, fetch = none, compute = none}) -- expect error: pipeline: blocks is nil; expected an integer from 2 on: how many of them fetch brings
end)
k{grid = 1, block = 32}(zeros(f32, 4))
