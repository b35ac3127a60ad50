-- Rows of 16 elements in shared memory, read 17 wide.
local k = kernel("rows", function(x, y)
  local s = shared(f32, row_major{4, 16})
  local row, column = threadIdx.x // 16, threadIdx.x % 16
  s[{row, column}] = x[threadIdx.x]
  sync_threads()
  if row < 3 then y[threadIdx.x] = s[{row, column}] + s[{row, column + 1}] end -- finds: coordinate: 16 in mode 1 of s, extent 16, by thread (15,0,0) of block (0,0,0); another element is accessed instead: stop at the extent, or guard the tensor
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
