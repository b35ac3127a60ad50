local l = layout{4, 8}
print(l[{1, 2}])  -- expect error: layout: no element (1,2); call l(1,2) for the index, mode(l, i) for a mode
