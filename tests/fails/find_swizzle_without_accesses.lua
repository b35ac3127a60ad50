find_swizzle("(32,32)")  -- expect error: find_swizzle: the accesses are wanted, as {dtype = f16, writes = {thr = "(16,8):(8,1)", val = "(1,8)"}, reads = "ldmatrix.x4"}
