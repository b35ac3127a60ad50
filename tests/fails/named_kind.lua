print(L"(4,8)":named(true, "K"))  -- expect error: named: a boolean is no name; a text was expected, _ to leave a mode as it is, false to take its name away, or a table for the modes inside it
