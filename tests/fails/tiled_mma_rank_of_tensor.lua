local mma = tiled_mma"UniversalFMA<f32>"
print(mma:get_slice(0):partition_C(zeros(f32, 8)))  -- expect error: partition_C: 8:1 has rank 1; the tile of the MMA's C (1,1) needs a mode for each of its sizes
