print(atom("UniversalCopy<u16>", f32))  -- expect error: atom: UniversalCopy<u16> moves 16 bits per thread, which hold no whole number of f32 (32 bits); give it a narrower type or take a wider atom
