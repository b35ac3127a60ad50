print(L"(4,8)":named("M"))  -- expect error: named: 1 name for (4,8):(1,4); it has 2 modes: give a name for each, _ to leave one as it is
