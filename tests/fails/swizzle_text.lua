print(L"Sw<2,0> o 0 o 8:1")  -- expect error: layout: expected ',' at column 6 of 'Sw<2,0> o 0 o 8:1'
