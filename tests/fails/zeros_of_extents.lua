-- Extents side by side are no shape.
print(zeros(f32, 4, 8)) -- expect error: zeros: 3 arguments; a shape is one argument: zeros(f32, {4, 8})
