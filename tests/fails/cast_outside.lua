print(cast(zeros(f32, 8), f16)) -- expect error: 'cast' exists only inside a kernel
