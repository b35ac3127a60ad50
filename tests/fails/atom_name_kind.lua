print(atom(f16))  -- expect error: atom: a name like "SM80_16x8x16_F32F16F16F32_TN" was expected, got userdata
