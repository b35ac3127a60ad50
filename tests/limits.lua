-- limits.lua: every constant of runtime/ and interp/ that is called a MAX, as "file NAME", by what is beyond
-- it; tests/lua/program/limits_listed.lua keeps the list whole, also if this file is run. A limit refuses, and
-- says so by its name, or work goes on in another way; each has a test of what is just beyond.
local limits <const> = {
  -- An error that names the limit, by the test that has it.
  refuses = {
    ["tests/fails/packed.cases"] = { "ir_packed.c MAX_ELEMENTS" },
    ["tests/fails/limits.cases"] = {
      "inttuple.h CT_BASIS_MAX", "inttuple.h CT_MAX_DEPTH", "inttuple.h CT_MAX_NODES",
      "gemm_order.h CT_GEMM_MAX_LOOPS", "gemm_order.h CT_GEMM_MAX_STEP", "ir_check.c MAX_NESTING",
      "emit_tile.h CT_EMIT_MAX_MODES", "emit_each.h CT_EACH_MAX_PARTS",
      "simt_slots.c MAX_WARP_BYTES", "bind_block.c MAX_UNROLL", "bind_escape.c MAX_OPERANDS",
      "bind_guard.c MAX_PREDICATED", "bind_layout.c MAX_VALUES", "bind_message.c MAX_SPEC",
      "bind_message.c MAX_TEXT", "bind_sync.c MAX_BARRIERS", "bind_sync.c MAX_COUNT",
      "bind_device.c MAX_BATCHES", "bind_sync.c MAX_NAMED", "bind_sync.c MAX_SLOTS",
      "ir_recast.c MAX_RECAST", "front_state.h FRONT_MAX_NIL_VARS", "front_state.h FRONT_MAX_OPS",
      "launch_config.c MAX_BLOCK", "launch_config.c MAX_BLOCK_Z", "launch_config.c MAX_CLUSTER",
      "launch_config.c MAX_GRID_YZ", "launch_config.c MAX_SHARED",
      "launch.h LAUNCH_MAX_ARGS", "launch.h LAUNCH_MAX_SLOTS", "launch.h LAUNCH_MAX_DEPTH",
      "bind_kernel.c MAX_PREPARED", "rewrite_scope.c MAX_GOTOS",
      "front_learn.c MAX_TRACES", "front_parts.h RECORD_MAX_NESTED",
      "state.h STATE_MAX_DEVICES", "state.h STATE_MAX_VIRTUAL",
      "tensor.h TENSOR_MAX_FIXED", "bind_function.c MAX_ARGS",
      "bind_function.c MAX_RESULTS", "ir.h CT_SIZE_MAX_OPS",
    },
    ["tests/c/test_cache.c"] = { "cache.c MAX_MIB" },
    ["tests/c/test_newfile.c"] = { "newfile.c MAX_LINKS" },
    ["tests/lua/program/mcp.lua"] = { "worker.c MAX_MIB", "worker.c MAX_OUTPUT" },
    ["tests/lua/program/environment.lua"] = { "state.c MAX_CAPTURE_SECONDS" },
    ["tests/fails/tune.cases"] = { "bind_block.c MAX_NUMBERS" },
    ["tests/lua/kernel/marks.lua"] = { "bind_mark.c MAX_NAME" },
    ["tests/fails/launch.cases"] = { "launch_config.c MAX_TURNS" },
    ["tests/fails/flow.cases"] = {
      "front_state.h FRONT_MAX_DEPTH", "front_state.h FRONT_MAX_TURNS",
    },
    ["tests/fails/tile.cases"] = {
      "bind_constant.c MAX_BYTES",
    },
    ["tests/fails/lists.cases"] = { "bind_list.c MAX_ALIGN" },
    ["tests/fails/warp.cases"] = { "bind_sync.c MAX_REGISTERS" },
    ["tests/lua/kernel/limits.lua"] = {
      "ir_data.h CT_GUARD_MAX", "launch.h LAUNCH_MAX_OPTIONS", "pass_registers.c MAX_TRIPS",
    },
    ["tests/lua/cpu/cooperative.lua"] = { "simt.c MAX_RESIDENT" },
    ["tests/lua/hopper/tma_rules.lua"] = { "ir_tma_box.c MAX_INSTRUCTIONS" },
    ["tests/lua/program/limits.lua"] = {
      "program.h PROGRAM_MAX_CHUNKS", "simt_open.c MAX_THREADS", "timeline.c MAX_EVENTS",
    },
    ["tests/lua/program/emit_file.lua"] = { "spec_trace.c MAX_FUNCTIONS" },
    ["tests/lua/program/command_line.lua"] = { "nvrtc_arch.c MAX_SM" },
    ["tests/lua/program/check.lua"] = { "check.c MAX_HELD" },
    ["tests/c/test_embed_lent.c"] = { "launch_memory.c MAX_RANK" },
    ["tests/c/test_export.c"] = { "expression.c MAX_DEPTH" },
    ["tests/c/test_simt_joint.c"] = { "simt.c MAX_JOINT" },
    ["tests/c/test_npy.c"] = { "npy.h CT_NPY_MAX_HEADER_BYTES", "npy.h CT_NPY_MAX_RANK" },
    ["tests/c/test_mode_name.c"] = { "mode_name.h CT_MODE_NAME_MAX" },
    ["tests/c/test_nvrtc.c"] = { "nvrtc.c MAX_OPTIONS" },
    ["tests/c/test_sandbox.c"] = { "sandbox_match.c MAX_DEPTH" },
    ["tests/rewrite/accept.lua"] = { "lua_parse_int.h LP_MAX_LEVELS" }, -- as Lua does
  },

  -- The same in another way, or less is told and that is said.
  goes_on = {
    ["tests/lua/kernel/limits.lua"] = {
      "simt_lower.h CT_MAX_TERMS", "ir_width.c MAX_LEAVES",
      "simt_place.c MAX_LEAVES", "simt_views.c MAX_TABLE", "ir_width.c MAX_PLANNED",
      "front_owner.c MAX_NAMES", "emit_name.c MAX_NAME", "emit_cuda.h CT_EMIT_NAME_MAX",
      "emit_cuda.h CT_MARK_NAME_MAX",
    },
    ["tests/lua/kernel/bounded_unroll.lua"] = { "front_state.h FRONT_MAX_UNROLL" },
    ["tests/lua/cpu/wide_grid.lua"] = { "simt.c MAX_BLOCKS" },
    ["tests/lua/program/limits.lua"] = { "simt_message.c MAX_BYTES" },
    ["tests/lua/kernel/many_specialisations.lua"] = { "launch.h LAUNCH_MAX_SPECS" },
    ["tests/c/test_dl.c"] = { "dl.c MAX_CANDIDATES" },
    ["tests/c/test_embed_lent.c"] = { "launch_site.c MAX_SITES" },
    ["tests/c/test_device_print.c"] = { "device_print.c MAX_LAUNCHES" },
  },

  -- How much a plan, a search or a report takes into account, where beyond it the plain way is right:
  -- no result depends on it, and random kernels, golden texts and the check gallery are beyond many.
  costs = {
    "banks.h CT_MAX_SECTORS", "check_early.c MAX_NAMES", "check_memory.c MAX_BLOCKS",
    "check_async.c MAX_SOURCES", "check_shadow.c MAX_RACES", "check_shadow.c MAX_READS",
    "check_state.h CT_MAX_EVENT", "check_flag_op.c MAX_PLACES", "check_flag_op.c MAX_READERS",
    "profile_memory.c MAX_SECTORS", "emit_each.c MAX_UNROLLED",
    "profile_memory.c MAX_BITS",
    "emit_gemm.c MAX_FMAS", "emit_plan.c MAX_COST", "emit_plan.c MAX_LOOK",
    "emit_plan_flow.c MAX_ABSORBED", "emit.h CT_EMIT_MAX_PULLED",
    "emit_wgmma_wait.c MAX_AGE",
    "pass_registers.c MAX_INDEX_DEPTH", "simt_fail_sync.c MAX_NAMED", "simt_peephole.c MAX_BODY",
    "simt_peephole.c MAX_REACH", "simt_tile.c MAX_TURNS", "simt_views.c MAX_SCRATCH",
    "arena.c MAX_BYTES", "newfile.c MAX_TRIES", "front_logic.c MAX_LOGIC",
    "pass_dce.c MAX_LOOK", "ir_buf.c MAX_STEM", "ir_buf.c MAX_DIGITS", "ir_buf.c MAX_NAME",
    "simt_tile.c MAX_PRODUCTS",
    "front_learn.c MAX_KEYS",
    "front_reads.c MAX_INDEX_CHAIN", "front_static.c MAX_CAPTURED", "launch_check.c MAX_LISTED",
    "emit_constant.c MAX_LINE", "launch_map.c MAX_KEPT",
    "bind_device.c MAX_REPS", "bind_search.c MAX_NAME", "source_load.c MAX_TEXTS",
    "rewrite_sets.c MAX_SET_BYTES", "bind_box.c MAX_ANCESTORS", "ir_check.c MAX_FINDINGS",
    "launch_time.c MAX_PENDING", "repl_print.c MAX_DRAWN_CELLS",
    "storage_mirror.c MAX_SLOTS",
  },

  -- What hardware, Lua or a table in the sources fixes: nothing is beyond.
  sizes = {
    "atom.h CT_ATOM_TEXT_MAX", "atom.h CT_ATOM_PTX_MAX", "exact_product.h CT_EXACT_MAX_M",
    "exact_product.h CT_EXACT_MAX_N", "exact_product.h CT_EXACT_MAX_K",
    "emit.h CT_EMIT_FUNCTION_MAX",
    "banks.h CT_MAX_LANE_BYTES", "bind_box.c MAX_OPERANDS",
    "bind_pair.c MAX_WORDS", "bind_word.c MAX_WORDS",
    "bind_layout.c MAX_COORDINATES", "bind_tma.c MAX_CLUSTER_BITS",
    "call.h CALL_MAX_ARGS", "call.h CALL_MAX_RESULTS", "simt_operand.h CT_MAX_OPERANDS",
    "emit_cuda.c STATIC_SHARED_MAX", "emit_each.h CT_EACH_MAX_VEC", "emit_each.h CT_EACH_MAX_VIEWS",
    "emit_mma.c MAX_REGISTERS", "emit_move.c MAX_WORDS", "ir_width.c MAX_VECTOR_BYTES",
    "launch.h LAUNCH_MAX_MAPS", "profile_merge.c MAX_SIZE",
    "terms.h CT_CALL_MAX_ALIGN", "launch_reads.c MAX_TEXT", "lua_lex.c MAX_TEXT",
    "lua_parse.c MAX_LOCALS", "lua_parse.c MAX_UPVALUES", "rewrite.c MAX_NAMES",
    "simt_masked.c MAX_BYTES", "simt_masked.c MAX_GUARDS", "simt_lower_mma.c MAX_GROUPS",
    "simt_lower_move.c MAX_DATA", "simt_mma.h MAX_N", "simt_slots.c MAX_THREADS",
    "simt_sync.h CT_MBAR_MAX", "simt_tile.c MAX_MB", "simt_tile.c MAX_NB",
    "simt_views.c MAX_VEC_BYTES", "tensor_core.h CT_TC_MAX_K",
    "lineage.h CT_LINEAGE_MAX_ELEMENTS",
  },
}

if arg and arg[0] and arg[0]:find "tests/limits%.lua$" and not package.loaded["tests.limits"] then
  package.loaded["tests.limits"] = true -- the test reads this file again
  dofile "tests/lua/program/limits_listed.lua"
end
return limits
