find_layout({ 64, { 8, 2 } }, 64, f16)  -- expect error: find_layout: the tile has a mode (8,2); one integer per mode was expected, as {128, 64}
