print(i32(2147483648))  -- expect error: i32: 2147483648 does not fit; an integer of 32 bits was expected
