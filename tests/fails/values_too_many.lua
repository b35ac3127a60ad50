local l = layout{65536, 65536}
print(#values(l))  -- expect error: values: (65536,65536):(1,65536) has 4294967296 elements; at most 16777216 are listed, call l(i) for single ones
