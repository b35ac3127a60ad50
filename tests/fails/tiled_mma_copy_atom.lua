print(tiled_mma"UniversalCopy<u32>")  -- expect error: tiled_mma: UniversalCopy<u32> is an atom of copies; an atom of products was expected
