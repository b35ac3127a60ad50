print(size())  -- expect error: size: argument 1 is missing; a layout, a shape or a text like "(4,8):(8,1)" was expected
