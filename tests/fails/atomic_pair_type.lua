local k = kernel("pair", function(t)
  atomic_add(t, 2 * threadIdx.x, 1, 2) -- expect error: atomic_add: t is f32; two elements at once are of f16 or bf16
end)
k{grid = 1, block = 32}(zeros(f32, 64))
