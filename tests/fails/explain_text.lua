explain("(4,8") -- expect error: explain: expected ')' at column 4 of '(4,8'
