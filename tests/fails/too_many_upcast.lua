print(upcast("(4,8)", 2, 4))  -- expect error: upcast: 3 arguments; 2 were expected, and a call that gives several values gives one in parentheses
