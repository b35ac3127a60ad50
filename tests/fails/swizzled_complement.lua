print(complement "Sw<2,0,3> o 0 o (8,8):(8,1)")  -- expect error: complement: Sw<2,0,3> o 0 o (8,8):(8,1) is swizzled, which complement cannot take; a layout without a swizzle was expected
