print(logical_divide("8", 0))  -- expect error: logical_divide: tiler 0 of 8:1; tiles must have elements
