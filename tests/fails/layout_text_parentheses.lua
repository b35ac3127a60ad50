print(L"4,8:1,4")  -- expect error: layout: '4,8:1,4' has no parentheses; write (4,8):(1,4)
