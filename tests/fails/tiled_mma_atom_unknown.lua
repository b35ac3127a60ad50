print(tiled_mma"SM80_16x8x16_F32F16F16_TN")  -- expect error: atom: there is no atom 'SM80_16x8x16_F32F16F16_TN'; did you mean 'SM80_16x8x16_F32F16F16F32_TN'?
