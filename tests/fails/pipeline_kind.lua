local k = kernel("k", function(x)
  pipeline(size(x), {load = x, compute = function() end}) -- expect error: pipeline: load is of type tensor; a function was expected
end)
k{grid = 1, block = 32}(zeros(f32, 4))
