print(upcast("8:1@0", 2))  -- expect error: upcast: the values of 8:1@0 are coordinates; expected strides that are numbers
