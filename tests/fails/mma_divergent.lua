-- An MMA that half of a warp reaches.
device "cpu"
local mma = tiled_mma("SM80_16x8x8_F32F16F16F32_TN")
local k = kernel("half", function(n)
  local rA, rB, rC = fragment(f16, {4, 1, 1}), fragment(f16, {2, 1, 1}), fragment(f32, {4, 1, 1})
  clear(rA) clear(rB) clear(rC)
  if threadIdx.x < n then
    gemm(mma, rA, rB, rC) -- expect error: gemm: thread (0,0,0) of block (0,0,0) waits at line 8, but thread (16,0,0) is past line 7; all threads of a warp must reach the same gemm
  end
end)
k{grid = 1, block = 32}(16)
