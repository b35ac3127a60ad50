print(zipped_divide("(4,8)", 2, 4))  -- expect error: zipped_divide: 3 arguments; 2 were expected, and a call that gives several values gives one in parentheses
