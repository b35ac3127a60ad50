print(tiled_mma(f16))  -- expect error: tiled_mma: argument 1 is of type dtype; an atom was expected
