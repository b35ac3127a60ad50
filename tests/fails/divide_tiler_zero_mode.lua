print(zipped_divide("(4,8)", {2, 0}))  -- expect error: zipped_divide: tiler 0 of 8:4; tiles must have elements
