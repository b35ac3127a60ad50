-- Two blocks store to the halves of one byte.
local k = kernel("ones", function(y)
  y[blockIdx.x] = f4e2m1(1.0) -- finds: race: read of y at offset 0 of 32, by thread (0,0,0) of block (1,0,0), and write by thread (0,0,0) of block (0,0,0) at the same line are not ordered: a store to an element of 4 bits reads its byte and writes it back, and the byte has two elements; let one thread store both, as by copy from a fragment of 2 elements
end)
k{grid = 64, block = 1}(zeros(f4e2m1, 64))
