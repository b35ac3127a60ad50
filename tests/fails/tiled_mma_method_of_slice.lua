local mma = tiled_mma("UniversalFMA<f32>", {8, 4})
mma:partition_C(zeros(f32, {8, 4}))  -- expect error: attempt to call a nil value (method 'partition_C'); it is a method of ThrMMA
