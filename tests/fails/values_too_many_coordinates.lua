print(#values(identity{2048, 1024}))  -- expect error: values: (2048,1024):(1@0,1@1) has 2097152 elements; at most 1048576 are listed, call l(i) for single ones
