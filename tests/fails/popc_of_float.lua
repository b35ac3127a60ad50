local k = kernel("bits", function(t, y)
  y[0] = popc(t[0]) -- expect error: popc: an integer expected, got f32; bitcast(x, u32) and its like are a float's bits
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(i32, 1))
