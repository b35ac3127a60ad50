-- Extents side by side are no shape.
print(view(zeros(f32, 8), 4, 2)) -- expect error: view: 3 arguments; a shape is one argument: view(t, {4, 8})
