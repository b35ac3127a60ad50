local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, {32, 32, 16})
print(mma:get_slice(0):partition_A(zeros(f16, {64, 40})))  -- expect error: partition_A: extent 40 of mode 1 of (64,40):(1,64) is no multiple of 16 in the tile of the MMA's A (32,16); take a tile that it divides
