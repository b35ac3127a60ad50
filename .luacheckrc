-- luacheck: `make lint` runs it over scripts/, stdlib/, tests/ and examples/.
std = "lua54"
max_line_length = 100

-- The names that `cuttle` scripts have as globals are those that stdlib/meta declares.
stds.cuttle = { read_globals = require "scripts.language_names" }

files["scripts/kernel_cases.lua"] = { std = "lua54+cuttle" }
files["scripts/matmul_configs.lua"] = { std = "lua54+cuttle" }
files["scripts/cubin_beside_nvdisasm.lua"] = { std = "lua54+cuttle" }
files["scripts/profile_beside_ncu.lua"] = { std = "lua54+cuttle" }
files["tests/lua/profile/merged.lua"] = { globals = { "arg" } }
files["scripts/mutate_sync_subjects.lua"] = { std = "lua54+cuttle" }
files["scripts/bench/attention_pages.lua"] = { std = "lua54+cuttle" }
files["scripts/bench/rows.lua"] = { std = "lua54+cuttle" }
files["scripts/bench/selections.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_rows.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_selections.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_products.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_packed.lua"] = { std = "lua54+cuttle" }
files["scripts/litmus_gpu.lua"] = { std = "lua54+cuttle" }
files["scripts/fingerprints.lua"] = { std = "lua54+cuttle" }
files["scripts/dot_loops.lua"] = { std = "lua54+cuttle" }
files["scripts/compile_tcgen05.lua"] = { std = "lua54+cuttle" }
files["scripts/conversions.lua"] = { std = "lua54+cuttle" }
files["scripts/ragged_sizes.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_decode.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_attention.lua"] = { std = "lua54+cuttle" }
files["scripts/attention_gpu.lua"] = { std = "lua54+cuttle" }
files["scripts/products_gpu.lua"] = { std = "lua54+cuttle" }
files["scripts/conformance.lua"] = { std = "lua54+cuttle" }
files["scripts/fuzz_kernels.lua"] = { std = "lua54+cuttle", max_line_length = 120 }
files["scripts/fuzz_c.lua"] = { std = "lua54+cuttle", max_line_length = 120 }
files["scripts/fuzz_c"] = { max_line_length = 120 } -- two languages side by side
files["scripts/fuzz_kernels"] = { max_line_length = 120 } -- a grammar, row by row
files["examples"] = { std = "lua54+cuttle" }
files["hosts/web/notebook"] = { std = "lua54+cuttle", allow_defined_top = true }
files["hosts/web/lua"] = { std = "lua54+cuttle" }
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
-- As interp/host/module_env.c makes their globals.
files["stdlib"] = { std = "lua54+cuttle", not_globals = { "cuda", "ptx" } }
files["stdlib/meta"] = { -- declarations only; lines of text begin behind "--- "
  std = "lua54+cuttle", ignore = { "1", "2" }, max_line_length = 106,
}
exclude_files = { -- data
  "build", "tests/golden", "tests/conformance", "tests/kernel_cases", "tests/fuzz/corpus",
}
