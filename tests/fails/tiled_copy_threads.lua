print(tiled_copy(atom("SM75_U32x1_LDSM_N", f16), "(16,1)", "(1,2)"))  -- expect error: tiled_copy: 16 threads are no multiple of the 32 that SM75_U32x1_LDSM_N needs
