print(arange(i32, 1, 49, 2, 3)) -- expect error: arange: 5 arguments; arange(dtype, shape, start, step) was expected, 1 to 48 being arange(i32, 48, 1)
