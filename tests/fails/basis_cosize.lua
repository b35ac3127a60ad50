print(cosize(identity { 4, 8 }))  -- expect error: cosize: stride 1@0 is a basis element; the values are coordinates, not numbers
