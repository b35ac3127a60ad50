print(layout{4, 8}:composition("(4,8"))  -- expect error: composition: expected ')' at column 4 of '(4,8'
