local k = kernel("k", function(x)
  pipeline(size(x), {load = function() end}) -- expect error: pipeline: compute is missing; a function was expected
end)
k{grid = 1, block = 32}(zeros(f32, 4))
