print(composition(swizzle(1, 0, 3), swizzle(1, 2, 4)))  -- expect error: composition: Sw<1,0,3> after Sw<1,2,4> is no swizzle; expected equal shifts and fields that join to one run of bits
