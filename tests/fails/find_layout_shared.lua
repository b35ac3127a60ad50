find_layout({ 64, 8 }, 64, f16, { shared = "(32,8)" })  -- expect error: find_layout: the shared layout (32,8):(1,32) has 256 elements; the tile's 512 or a multiple were expected
