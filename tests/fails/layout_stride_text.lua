print(layout({4, 8}, "x"))  -- expect error: layout: expected a number at column 0 of 'x'
