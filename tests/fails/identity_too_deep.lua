print(identity "(((((2,2),2),2),2),2)")  -- expect error: identity: shape (((((2,2),2),2),2),2); expected at most 4 levels, and 256 modes at each
