print(swizzle(3, 0, 2))  -- expect error: swizzle: the fields of Sw<3,0,2> overlap; expected |S| >= B
