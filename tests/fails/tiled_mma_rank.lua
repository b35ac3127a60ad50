print(tiled_mma("UniversalFMA<f32>", {2, 2, 1, 2}))  -- expect error: tiled_mma: the layout of atoms (2,2,1,2):(1,2,0,4) has rank 4; at most 3 modes (M,N,K) were expected
