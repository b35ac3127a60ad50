find_layout({ 64, 8 }, 64)  -- expect error: find_layout: the element type is wanted, as find_layout({128, 64}, 128, f16)
