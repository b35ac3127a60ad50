local k = kernel("k", function(x)
  pipeline({load = function() end, compute = function() end}) -- expect error: pipeline: argument 2 is of type nil; a table {load = ..., compute = ...} was expected
end)
k{grid = 1, block = 32}(zeros(f32, 4))
