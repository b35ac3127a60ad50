print(swizzle_from_masks(12, 1))  -- expect error: swizzle: masks 12 and 1 do not form a swizzle; expected two runs of equally many bits
