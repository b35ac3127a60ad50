print(layout{4, 8}:flatten(3))  -- expect error: flatten: 2 arguments; 1 was expected, and a call that gives several values gives one in parentheses
