print(tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, 32))  -- expect error: tiled_mma: the permutations are a number; a table of at most 3 tilers, of M, N and K, was expected
