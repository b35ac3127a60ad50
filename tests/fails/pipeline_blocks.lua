-- Blocks without a function that brings them to registers.
local k = kernel("k", function(x)
  pipeline(size(x), {load = function() end, compute = function() end, blocks = 4}) -- expect error: pipeline: blocks = 4 without a function fetch, which brings a block to registers
end)
k{grid = 1, block = 32}(zeros(f32, 4))
