print(max(zeros(f32, 4)))  -- expect error: max: numbers expected, got a tensor; write reduce(t, "max")
