print(coalesce(print))  -- expect error: coalesce: argument 1 is a function; a layout, a shape or a text like "(4,8):(8,1)" was expected
