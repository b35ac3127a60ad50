local rows = i64(65536)
local x = zeros(i32, 4)
kernel("k", function(t, n)
  t[0] = cast(rows * n, i32) -- expect error: *: a number or boolean expected, got a number of a given type; keep the plain number, and write i64(n) in the kernel
end){grid = 1, block = 1}(x, 3)
