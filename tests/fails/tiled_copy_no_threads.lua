print(tiled_copy(atom("UniversalCopy<u128>", f32)))  -- expect error: tiled_copy: argument 2 is missing; a layout of threads was expected, as in tiled_copy(atom, layout{8, 4}, layout{4, 1})
