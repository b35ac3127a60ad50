zeros({4, 8}, f32)  -- expect error: zeros: argument 1 is a table; the element type comes first: zeros(f32, {4, 8})
