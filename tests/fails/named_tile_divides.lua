-- Named modes in the errors of a kernel: which mode the tile does not divide.
local k = kernel("ragged", function(A)
  clear(tile(A, {32, 8}, {blockIdx.x, 0})) -- expect error: tile: extent 36 of mode 1 (K) of A is not a multiple of the tile's 8; pad the tensor or write guard(A)
end)
k{grid = 1, block = 32}(zeros(f32, L"(M=32,K=36):(1,32)"))
