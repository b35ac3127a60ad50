print(L"(4,8)":named(0, "M", "K"))  -- expect error: named: a path takes one name, got 2
