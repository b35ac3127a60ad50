print(zeros("f33", 3))  -- expect error: zeros: 'f33' is no element type; f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8 or bool was expected
