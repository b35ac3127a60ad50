print(complement("4:1", -5))  -- expect error: complement: cotarget -5 is negative; a size was expected
