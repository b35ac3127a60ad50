print(layout{4, {true}})  -- expect error: layout: argument 1 has a boolean in it; integers were expected
