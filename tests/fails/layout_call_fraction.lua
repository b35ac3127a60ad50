print(layout{4, 8}(1.5))  -- expect error: call of a layout: 1.5 is no integer; an integer was expected
