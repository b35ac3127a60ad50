print(tiled_mma("UniversalFMA<f32>", "(2,2):(1,4)"))  -- expect error: tiled_mma: the layout of atoms (2,2,1):(1,4,0) does not number its 4 atoms 0 to 3, each once
