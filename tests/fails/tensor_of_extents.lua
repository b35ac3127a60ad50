-- Extents side by side are no shape.
print(tensor(f32, 8, 2)) -- expect error: tensor: 3 arguments; a shape is one argument: tensor(f32, {4, 8}), with strides tensor(f32, layout({4, 8}, {8, 1}))
