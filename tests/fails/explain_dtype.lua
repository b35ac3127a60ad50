explain("(4,8)", {dtype = "f32"}) -- expect error: explain: the option dtype is f32; an element type like f32 was expected
