print(layout{4, 8}:complemnt(64))  -- expect error: attempt to call a nil value (method 'complemnt'); did you mean 'complement'?
