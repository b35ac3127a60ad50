print(tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, {32, 24, 16}))  -- expect error: tiled_mma: the permutation 24 makes the tile's N 24; expected a multiple of 16, which is 2 times the atom's 8
