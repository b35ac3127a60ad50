print(upcast("Sw<1,2,1> o 3 o 8:1", 2))  -- expect error: upcast: offset 3 in Sw<1,2,1> o 3 o 8:1 is not known to be a multiple of 2
