-- Two threads store to elements of 4 bits that share a byte: each writes back what it read of the other half.
local k = kernel("ones", function(y)
  y[threadIdx.x] = f4e2m1(1.0) -- finds: race: write of y at offset 0 of 32, by thread (0,0,0) of block (0,0,0), and read by thread (1,0,0) at the same line are not ordered (lanes of a warp run in any order); put sync_warp() between the two, or use an atomic operation
end)
k{grid = 1, block = 64}(zeros(f4e2m1, 64))
