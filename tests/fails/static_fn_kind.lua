print(static_fn{1, 2}) -- expect error: static_fn: argument 1 is a table; a function was expected
