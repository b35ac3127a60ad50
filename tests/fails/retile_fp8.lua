-- A thread holds other columns of fp8 operands than of sums.
local mma = tiled_mma"SM90_64x8x32_F32E4M3E4M3_RS_TN"
local k = kernel("group", function(C)
  local scores = mma:get_slice(threadIdx.x):partition_fragment_C(layout{64, 32})
  mma:retile_A(scores) -- expect error: retile_A: a thread of SM90_64x8x32_F32E4M3E4M3_RS_TN holds other columns than one of SM90_64x8x32_F32E4M3E4M3_RS_TN, so sums of the one are no operand of the other
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
