local k = kernel("k", function(x)
  pipeline(size(x), {load = function() end, compute = function() end, slots = 3}) -- expect error: pipeline: field 'slots' is unknown; expected load, store, fetch, compute, stages, blocks or parts
end)
k{grid = 1, block = 32}(zeros(f32, 4))
