print(stride "Sw<2,0,3> o 0 o (8,8):(8,1)")  -- expect error: stride: Sw<2,0,3> o 0 o (8,8):(8,1) is swizzled and has no strides; those of its layout are L.layout.stride
