print(size("(4,8)", 5))  -- expect error: size: no mode 5 in (4,8):(1,4), which has rank 2
