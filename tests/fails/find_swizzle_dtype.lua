find_swizzle("(32,32)", { reads = "ldmatrix.x4" })  -- expect error: find_swizzle: the element type is wanted, as {dtype = f16, ...}
