-- Element types are objects.
print(f64, f32, i64, i32, bool)                 -- expect: f64	f32	i64	i32	bool
print(f32.name, f32.bits, f64.bytes, bool.bytes)  -- expect: f32	32	8	1
print(f32 == f32, f32 == f64, f32.nothing)      -- expect: true	false	nil
print(zeros("f64", 2).dtype == f64)             -- expect: true
