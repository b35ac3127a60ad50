print(u16(70000)) -- expect error: u16: 70000 does not fit; an integer of 16 bits was expected
