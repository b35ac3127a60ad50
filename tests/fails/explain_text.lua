explain("(4,8") -- expect error: layout: expected ')' at column 4 of '(4,8'
