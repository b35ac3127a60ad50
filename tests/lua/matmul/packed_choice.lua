-- Which tiles a product of a wide packed weight gets on an H200, by the rows of A.
local n, k <const> = 9216, 128
local w = require "cuttle.packed_weights".pack_weights(zeros(u8, row_major{n, k}),
  {type = "u4", scales = zeros(bf16, row_major{n, 1})})
for m = 64, 256, 64 do
  local A, C = zeros(bf16, row_major{m, k}), zeros(bf16, row_major{m, n})
  print(m, require "cuttle.matmul".explain(A, w, C, {device = "H200"}).config)
end
-- expect: 64	packed hopper 64x64x64, u4
-- expect: 128	packed hopper 64x128x64, u4
-- expect: 192	packed hopper 64x64x64, u4
-- expect: 256	packed hopper 64x256x64, u4
