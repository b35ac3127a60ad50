find_swizzle("(32,32)", { dtype = f32, reads = { 0, 4, 6, vec = 4 } })  -- expect error: find_swizzle: offset 6 of lane 2; a multiple of vec (4) from 0 on was expected, or false
