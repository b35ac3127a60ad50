print(composition("Sw<1,0,1>", identity { 4, 8 }))  -- expect error: composition: the values of (4,8):(1@0,1@1) are coordinates; only indices can be swizzled
