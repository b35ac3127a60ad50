-- u32 beside i32 is an i64, which no u32 holds.
local k = kernel("mix", function(x, n)
  x[0] = x[1] + n -- expect error: store to x: u32 expected, got i64; use cast(x, u32)
end)
k{grid = 1, block = 1}(zeros(u32, 4), 3)
