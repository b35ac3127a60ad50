-- An order that there is not.
raster{tiles = {2, 3}, order = "rows"} -- expect error: raster: order is 'rows'; expected "groups", "columns", "hilbert" or a tensor of tiles
