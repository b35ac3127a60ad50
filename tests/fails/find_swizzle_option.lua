find_swizzle("(32,32)", { dtype = f32, read = "ldmatrix.x4" })  -- expect error: find_swizzle: there is no option 'read'; there are blocks, dtype, max_bytes, padding, reads, rows, swizzle, writes
