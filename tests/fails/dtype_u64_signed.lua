-- No integer type holds every u64 and every i64.
local k = kernel("mix", function(x, n)
  x[0] = x[1] + n -- expect error: +: u64 beside i32; no integer type holds both, so cast one of them
end)
k{grid = 1, block = 1}(zeros(u64, 4), 3)
