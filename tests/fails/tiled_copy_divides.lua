local copy = tiled_copy(atom("UniversalCopy<u128>", f32), "(32,8)", "(4,1)")
print(copy:get_slice(0):partition_S(zeros(f32, {100, 8})))  -- expect error: partition_S: extent 100 of mode 0 of (100,8):(1,100) is no multiple of 128 in the copy's tile (128,8); take a tile that it divides
