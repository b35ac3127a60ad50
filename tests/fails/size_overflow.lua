print(size"(1000000000000,1000000000000)")  -- expect error: size: 1000000000000 * 1000000000000 does not fit in 64 bits
