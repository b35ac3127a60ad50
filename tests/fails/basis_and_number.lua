print(E(0) + E(1) + 3)  -- expect error: coordinate: (1,1) and 3 cannot be added; expected equal nesting
