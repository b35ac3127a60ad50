print(tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), atom"SM80_16x8x16_F32F16F16F32_TN"))  -- expect error: tiled_copy_A: argument 2 is of type atom; a tiled MMA was expected
