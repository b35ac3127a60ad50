print(layout{[2] = 4})  -- expect error: layout: a table with the key '2' is no tuple; {4, {2, 3}} is one
