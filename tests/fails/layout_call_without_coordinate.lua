print(L"(4,8)"())  -- expect error: call of a layout: a coordinate is missing; give an integer or table for each mode
