print(swizzle(3, 60, 3))  -- expect error: swizzle: Sw<3,60,3> is out of range; expected B >= 0, M >= 0 and B + M + |S| <= 62
