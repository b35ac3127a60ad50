print(layout(1.5))  -- expect error: layout: 1.5 is no integer; an integer was expected
