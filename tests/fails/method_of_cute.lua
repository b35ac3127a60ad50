local mma = tiled_mma("UniversalFMA<f32>", {8, 4})
mma:make_fragment_C(zeros(f32, {8, 4}))  -- expect error: attempt to call a nil value (method 'make_fragment_C'); make_fragment_C is TiledMMA.fragment_C or ThrMMA.fragment_C here
