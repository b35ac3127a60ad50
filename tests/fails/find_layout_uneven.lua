find_layout({ 64, 8 }, 96, f16)  -- expect error: find_layout: 96 threads cannot share the 512 elements of the tile (64,8) evenly, mode by mode; 64 or 128 threads can
