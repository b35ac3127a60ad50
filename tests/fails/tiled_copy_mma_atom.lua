print(tiled_copy("UniversalFMA<f32>", 32))  -- expect error: tiled_copy: UniversalFMA<f32> is an atom of products; an atom of copies was expected
