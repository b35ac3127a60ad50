tile(layout{4, 8}, {2, 2})  -- expect error: tile: 2 arguments; tile(t, tiler, coordinate) was expected, and zipped_divide(t, tiler) has all tiles
