print(tiled_mma("UniversalFMA<f32>", {4, 4}):get_slice(16))  -- expect error: get_slice: there is no thread 16; expected 0 to 15
