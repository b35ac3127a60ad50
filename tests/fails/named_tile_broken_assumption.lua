-- The launch that breaks what a specialisation took for granted names the mode, too.
local k = kernel("thirds", function(A)
  clear(tile(A, {32, 12}, {blockIdx.x, 0})) -- expect error: tile: extent 68 of mode 1 (K) of A is not a multiple of the tile's 12; pad the tensor or write guard(A)
end)
k{grid = 1, block = 32}(zeros(f32, L"(M=32,K=60):(1,32)"))
k{grid = 1, block = 32}(zeros(f32, L"(M=32,K=84):(1,32)"))
k{grid = 1, block = 32}(zeros(f32, L"(M=32,K=68):(1,32)"))
