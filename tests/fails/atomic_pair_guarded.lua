local k = kernel("pair", function(t)
  local g = guard(t)
  atomic_add(g, 2 * threadIdx.x, 1, 2) -- expect error: atomic_add: g is guarded, and of two elements one may be outside; add them one by one, or leave the guard out
end)
k{grid = 1, block = 32}(zeros(f16, 64))
