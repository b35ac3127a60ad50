local thr = tiled_copy(atom("UniversalCopy<u128>", f32), layout{32}, layout{4}):get_slice(0)
print(thr.partition_S(zeros(f32, 128)))  -- expect error: partition_S: argument 1 is missing; a tensor or a layout was expected, as in thr:partition_S(x), with a colon
