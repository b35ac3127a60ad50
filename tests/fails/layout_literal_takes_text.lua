print(L{4, 8})  -- expect error: L: argument 1 is a table; a text like "(4,8):(8,1)" was expected; layout{4, 8} takes numbers
