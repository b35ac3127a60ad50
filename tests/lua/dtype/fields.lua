-- Element types are objects.
print(f64, f32, i64, i32, bool)                 -- expect: f64	f32	i64	i32	bool
print(f32.name, f32.bits, f64.bytes, bool.bytes)  -- expect: f32	32	8	1
print(f8e4m3.is_float, tf32.is_float, u32.is_float, bool.is_float) -- expect: true	true	false	false
print(f16.compute, f8e5m2.compute, i8.compute, u16.compute, i64.compute) -- expect: f32	f32	i32	i32	i64
print(f32 == f32, f32 == f64)                   -- expect: true	false
print(zeros("f64", 2).dtype == f64)             -- expect: true
