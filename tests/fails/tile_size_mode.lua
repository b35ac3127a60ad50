-- A mode of a tiled MMA's tile that there is not.
tiled_mma("UniversalFMA<f32>", { 4, 8 }):tile_size_mnk(3) -- expect error: tile_size_mnk: there is no mode 3; 0 (M), 1 (N) and 2 (K) were expected
