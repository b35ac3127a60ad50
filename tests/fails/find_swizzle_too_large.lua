find_swizzle("(32,32)", { dtype = f32, reads = { 0 }, max_bytes = 4000 })  -- expect error: find_swizzle: no layout of (32,32):(1,32) takes at most 4000 bytes (max_bytes)
