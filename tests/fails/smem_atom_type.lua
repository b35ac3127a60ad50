print(smem_atom("K_SW128", 16))  -- expect error: smem_atom: an element type like f16 was expected, got 16
