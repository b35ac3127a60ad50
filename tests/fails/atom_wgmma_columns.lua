print(atom"SM90_64x300x16_F32BF16BF16_SS")  -- expect error: atom: there is no atom 'SM90_64x300x16_F32BF16BF16_SS'; did you mean 'SM90_64x256x16_F32BF16BF16_SS'?
