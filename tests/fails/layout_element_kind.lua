local l = layout{4, 8}
print(l[true])  -- expect error: layout: a boolean is no field or method of a layout
