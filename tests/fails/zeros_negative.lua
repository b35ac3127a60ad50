print(zeros(f32, {-1}))  -- expect error: zeros: extent -1 in shape (-1) is negative; extents must be >= 0
