print(size"(4,8")  -- expect error: size: expected ')' at column 4 of '(4,8'
