local k = kernel("k", function(A)
  A[0] = size"(4,8"  -- expect error: size: expected ')' at column 4 of '(4,8'
end)
k{grid = 1, block = 1}(zeros(i32, {4}))
