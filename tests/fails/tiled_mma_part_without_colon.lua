local thr = tiled_mma("UniversalFMA<f32>", {8, 4}):get_slice(0)
print(thr.partition_C(zeros(f32, {8, 4})))  -- expect error: partition_C: argument 1 is missing; a tensor or a layout was expected, as in thr:partition_C(x), with a colon
