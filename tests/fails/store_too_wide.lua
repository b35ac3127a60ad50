-- A constant that the element type cannot hold.
local k = kernel("wide", function(n)
  n[threadIdx.x] = 1 << 31 -- expect error: store to n: 2147483648 does not fit i32; expected -2147483648 to 2147483647
end)
k{grid = 1, block = 32}(zeros(i32, 32))
