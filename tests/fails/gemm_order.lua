-- An order of products that there is not.
local k = kernel("order", function(out)
  local rA, rC = fragment(f32, {4, 2}), fragment(f32, {4, 4})
  gemm(rA, rA, rC, {order = "best"}) -- expect error: gemm: order 'best'; expected columns, rows, serpentine or column_pairs
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f32, 1))
