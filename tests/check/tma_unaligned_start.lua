-- Boxes that begin inside a unit of 16 bytes: halves of a row are well, a row and one element is not.
local k = kernel("shifted", function(A, C, by)
  local s, full = shared(f32, row_major{4, 8}), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(4 * 8 * 4)
    tma_load(tile(domain_offset({0, by}, tma_tensor(A)), {4, 8}, {0, 0}), s, full[0]) -- finds: tma_load: a box of A begins at element 17 of its rows, by thread (0,0,0) of block (0,0,0); TMA begins at multiples of 16 bytes, 4 elements of f32
  end
  full[0]:wait(0)
  C[threadIdx.x] = s[threadIdx.x]
end)
local A, C = rand(f32, row_major{4, 32}), zeros(f32, 32)
k{grid = 1, block = 32}(A, C, 16)
k{grid = 1, block = 32}(A, C, 17)
