-- An MMA after half of a warp has ended.
device "cpu"
local mma = tiled_mma("SM80_16x8x8_F32F16F16F32_TN")
local k = kernel("ended", function(n)
  if threadIdx.x >= n then return end
  local rA, rB, rC = fragment(f16, {4, 1, 1}), fragment(f16, {2, 1, 1}), fragment(f32, {4, 1, 1})
  clear(rA) clear(rB) clear(rC)
  gemm(mma, rA, rB, rC) -- expect error: gemm: all 32 threads of a warp are needed, but some of the warp of thread (0,0,0) of block (0,0,0) have ended; let all threads come here
end)
k{grid = 1, block = 32}(16)
