print(clz(0.5)) -- expect error: clz: an integer expected, got 0.5
