find_swizzle("(32,32)", { dtype = f32, reads = { 0 }, max_bytes = 0 })  -- expect error: find_swizzle: max_bytes is 0; an integer from 1 on was expected
