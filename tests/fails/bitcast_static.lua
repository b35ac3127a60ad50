local k = kernel("bits", function(x)
  x[0] = bitcast(1.0, u32) -- expect error: bitcast: a number has no type of a width; expected a run-time value, like f32(x)
end)
k{grid = 1, block = 1}(zeros(u32, 4))
