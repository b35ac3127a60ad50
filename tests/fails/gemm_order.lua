-- An order of products that there is not.
local k = kernel("order", function(out)
  local rA, rC = fragment(f32, {4, 2}), fragment(f32, {4, 4})
  gemm(rA, rA, rC, {order = "best"}) -- expect error: gemm: order 'best'; expected columns, rows, serpentine, column_pairs or at most 4 loops over m and n from the outermost on, such as "n2 ~m ~n": a step behind the letter, of which the last is 1, and ~ before one that turns at every second time
  out[0] = rC[0]
end)
k{grid = 1, block = 1}(zeros(f32, 1))
