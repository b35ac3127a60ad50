-- luacheck: `make lint` runs it over scripts/, stdlib/, tests/ and examples/.
std = "lua54"
max_line_length = 100

-- The names that `cuttle` scripts have as globals (DESIGN: the vocabulary).
stds.cuttle = {
  read_globals = {
    -- layouts
    "L", "E", "_", "layout", "row_major", "col_major", "ordered", "identity", "shape", "stride",
    "size", "cosize", "rank", "depth", "coalesce", "flatten", "filter", "filter_zeros",
    "composition", "complement", "right_inverse", "left_inverse", "nullspace", "logical_divide",
    "zipped_divide", "tiled_divide", "flat_divide", "logical_product", "zipped_product",
    "tiled_product", "flat_product", "blocked_product", "raked_product", "tile_to_shape",
    "swizzle", "swizzle_from_masks", "crd2idx", "idx2crd", "crd2crd", "slice", "dice", "group",
    "take", "append", "prepend", "replace", "slice_and_offset", "max_common_vector",
    "max_common_layout", "upcast",
    "downcast", "recast", "tv_layout", "congruent", "compatible", "weakly_congruent",
    "evenly_divides", "elem_less", "lex_less", "colex_less", "compact_col_major",
    "compact_row_major", "compact_order", "layout_like", "fragment_layout_like", "concat", "mode",
    "domain_distribute", "domain_offset", "values", "named", "names",
    -- element types
    "f64", "f32", "tf32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "u64",
    "u32", "u16", "u8", "bool",
    -- host tensors
    "tensor", "zeros", "ones", "full", "rand", "randn", "arange", "from_table", "load_npy",
    "save_npy", "allclose", "reference", "close",
    -- kernels
    "kernel", "static", "static_fn", "threadIdx", "blockIdx", "blockDim", "gridDim", "shared",
    "fragment", "fragment_like", "identity_tensor", "view", "tile", "parallelize", "tiled_copy", "tiled_mma", "copy",
    "copy_if", "gemm", "pipeline", "raster", "matmul", "attention", "clear", "fill", "axpby", "transform",
    "reduce", "sync_threads",
    "sync_warp", "cp_async_fence", "cp_async_wait", "shfl_up", "shfl_down", "shfl_xor", "shfl_idx",
    "cluster_rank", "cluster_size", "cluster_sync", "cluster_arrive", "cluster_wait", "remote",
    "grid_dependency_wait", "grid_dependency_launch",
    "ballot", "any", "all", "atomic_add", "atomic_min", "atomic_max", "atomic_and", "atomic_or",
    "warp_reduce", "warp_scan", "block_reduce", "block_scan",
    "atomic_xor", "atomic_exch", "atomic_cas", "atomic_load", "atomic_store", "fence", "clock",
    "mbarrier", "pipeline_state", "named_barrier", "setmaxnreg", "elect_one",
    "tma_tensor", "tma_load", "tma_store", "tma_store_commit", "tma_store_wait", "fence_proxy_async",
    "printf", "cuda", "range", "axes", "unroll", "guard", "cast", "bitcast", "where",
    -- arithmetic
    "fma", "min", "max", "abs", "exp", "exp2", "exp2_approx", "log", "log2", "sqrt", "rsqrt",
    "tanh", "sin", "cos", "floor", "ceil", "cdiv", "popc", "clz", "ffs", "brev", "ashr",
    -- instructions
    "atom", "atoms", "smem_atom", "gmma_layout", "wgmma_fence", "wgmma_commit", "wgmma_wait",
    "tiled_copy_A", "tiled_copy_B", "tiled_copy_C", "tiled_copy_S",
    "tiled_copy_D",
    -- launches and devices
    "stream", "event", "graph", "synchronize", "device", "devices", "seed", "bench",
    "cuda_kernel",
    -- pictures and help
    "show", "svg", "latex", "html", "explain", "trace", "timeline", "profile", "find_swizzle", "find_layout",
    "help", "apropos", "reload", "import",
  },
}

files["scripts/kernel_cases.lua"] = { std = "lua54+cuttle" }
files["scripts/matmul_configs.lua"] = { std = "lua54+cuttle" }
files["scripts/fingerprints.lua"] = { std = "lua54+cuttle" }
files["scripts/conversions.lua"] = { std = "lua54+cuttle" }
files["scripts/ragged_sizes.lua"] = { std = "lua54+cuttle" }
files["scripts/conformance.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_kernels.lua"] = { -- a grammar, row by row
  std = "lua54+cuttle", max_line_length = false,
}
files["scripts/fuzz_c.lua"] = { std = "lua54+cuttle", max_line_length = 120 }
files["scripts/fuzz_c"] = { max_line_length = 120 } -- two languages side by side
files["examples"] = { std = "lua54+cuttle" }
files["tests"] = { -- whole messages in comments; kernels that do not use all they take, and whose
  -- parameters are called as the host calls the tensors
  std = "lua54+cuttle", max_comment_line_length = false, max_string_line_length = false,
  ignore = { "212", "213", "431" },
}
files["tests/lua/front/random.lua"] = { globals = { "arg" } }
files["tests/lua/front/random_c.lua"] = { globals = { "arg" } }
files["tests/lua/kernel/jump_behind_return.lua"] = { ignore = { "512" } } -- loops left in their first turn
files["tests/rewrite"] = { -- run by test_rewrite.c and test_source.c, which lend these
  globals = { "src", "ok", "rw", "_" }, max_line_length = false,
}
files["stdlib/meta"] = { -- declarations only; lines of text begin behind "--- "
  std = "lua54+cuttle", ignore = { "1", "2" }, max_line_length = 106,
}
exclude_files = { -- data
  "build", "tests/golden", "tests/conformance", "tests/kernel_cases", "tests/fuzz/corpus",
}
