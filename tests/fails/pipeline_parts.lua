local k = kernel("k", function(x)
  local none = function() end
  pipeline(size(x), {load = none, fetch = none, compute = none, blocks = 4, parts = 4}) -- expect error: pipeline: parts is 4; expected an integer from 1 to 3: the last block of 4 waits for the next tile
end)
k{grid = 1, block = 32}(zeros(f32, 4))
