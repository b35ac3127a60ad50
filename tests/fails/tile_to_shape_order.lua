print(tile_to_shape("(2,2)", "(4,4)", {1, 2, 3}))  -- expect error: tile_to_shape: order (1,2,3) does not fit shape (4,4); give one value per mode
