print(layout_like(identity { 4, 8 }))  -- expect error: layout_like: the values of (4,8):(1@0,1@1) are coordinates; expected strides that are numbers
