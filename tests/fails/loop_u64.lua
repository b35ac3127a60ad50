local k = kernel("count", function(x)
  for i = u64(0), x[0] do -- expect error: a run-time 'for' counts with i32 or i64, got a u64; use cast(x, i64)
    x[i] = i
  end
end)
k{grid = 1, block = 1}(zeros(u64, 4))
