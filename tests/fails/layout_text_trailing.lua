print(layout("(4,8):(8,1) x"))  -- expect error: layout: unexpected text at column 12 of '(4,8):(8,1) x'
