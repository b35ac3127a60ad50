print(zeros("f33", 3))  -- expect error: zeros: 'f33' is no element type; f32, f64, i32, i64 or bool was expected
