print(L"((2,3),4)":named({"a"}, "b"))  -- expect error: named: 1 name for (2,3) in ((2,3),4):((1,2),6); it has 2 modes: give a name for each, _ to leave one as it is
