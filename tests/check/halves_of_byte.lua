-- Two threads store to elements of 4 bits that share a byte: each writes back what it read of the other half.
local k = kernel("ones", function(y)
  y[threadIdx.x] = f4e2m1(1.0) -- finds: race: write of y at offset 0 of 32, by thread (0,0,0) of block (0,0,0), and read by thread (1,0,0) at the same line are not ordered: a store to an element of 4 bits reads its byte and writes it back, and the byte has two elements; let one thread store both, as by copy from a fragment of 2 elements
end)
k{grid = 1, block = 64}(zeros(f4e2m1, 64))
