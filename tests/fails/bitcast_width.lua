local k = kernel("bits", function(x)
  x[0] = cast(bitcast(x[1], i64), f32) -- expect error: bitcast: f32 has 32 bits but i64 has 64; expected types of equal width
end)
k{grid = 1, block = 1}(zeros(f32, 4))
