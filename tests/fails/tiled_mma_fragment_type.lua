local mma = tiled_mma"SM80_16x8x64_S32S4S4S32_TN"
print(mma:get_slice(0):partition_fragment_A(zeros(i8, {16, 64})))  -- expect error: partition_fragment_A: A of SM80_16x8x64_S32S4S4S32_TN has elements of type i4, 8 in each u32 of a tensor; (16,64):(1,16) is a tensor of i8
