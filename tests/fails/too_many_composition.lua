print(composition(layout"8", "4", "2"))  -- expect error: composition: 3 arguments; 2 were expected, and a call that gives several values gives one in parentheses
