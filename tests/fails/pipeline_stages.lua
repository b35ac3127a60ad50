-- One slot that nothing stores to from registers would be overwritten while it is read.
local k = kernel("k", function(x)
  pipeline(size(x), {load = function() end, compute = function() end, stages = 1}) -- expect error: pipeline: stages is 1; expected an integer from 2 to 9: a single slot needs a function store
end)
k{grid = 1, block = 32}(zeros(f32, 4))
