-- Operands in shared memory are another instruction's.
local k = kernel("group", function(out)
  local r, c = fragment(f16, {1, 1, 1}), fragment(f32, {4, 1, 1})
  gemm(atom"SM90_64x8x16_F32F16F16_SS", r, r, c) -- expect error: gemm: SM90_64x8x16_F32F16F16_SS reads shared memory, as wgmma does, which gemm has no code for; take an atom with operands in registers: atoms{family = "mma.sync"} lists them
  out[0] = c[0]
end)
k{grid = 1, block = 128}(zeros(f32, 1))
