find_swizzle("(32,32)", { dtype = f32 })  -- expect error: find_swizzle: neither writes nor reads are given, so that there is nothing to compare
