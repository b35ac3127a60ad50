print(layout{m = 4})  -- expect error: layout: a table with the key 'm' is no tuple; {4, {2, 3}} is one, and layout{4, 8}:named("M", "K") has names
