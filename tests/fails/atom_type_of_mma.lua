print(atom("SM80_16x8x16_F32F16F16F32_TN", f16))  -- expect error: atom: SM80_16x8x16_F32F16F16F32_TN multiplies f16 by f16; only an atom that copies is given a type
