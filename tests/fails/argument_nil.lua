local shape_of = {}
zeros(shape_of.dtype, 4)  -- expect error: zeros: argument 1 is nil, perhaps a misspelt name; an element type like f32 was expected
