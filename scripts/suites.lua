-- suites.lua: all tests, how each is run, and which runs leave which out, with the reasons.
--   lua scripts/suites.lua list RUN       the names of a run's tests, those that take longest first
--   lua scripts/suites.lua one RUN NAME   runs one of them, which prints TAP
--   lua scripts/suites.lua left_out RUN   the names that it leaves out, with the reasons
-- The runs, by what makes them:
--   test      make test; with WHOLE=1, as in .ci/run, also what `only_whole` lists; with ONCE=1, as
--             there, without what the sanitized run beside it has, too
--   asan      make asan                    gpu    make gpu-test, on a machine with a CUDA device
--   engine    make test-engine             part   of `engine` what .ci/run runs for other machines
-- A file that is put into one of the folders below is a test: nothing has to be written down.
-- With COVERED= the sanitized run leaves out only what is listed here, and not what other tests
-- cover (tests/golden/covered.txt, of `make covered`).

-- What commands take from the environment; else from here.
local settings <const> = {
  { "BUILD", "build" }, { "LUA", "lua5.4" }, { "FUZZ_SECONDS", "10" },
  { "PROGRAM", "$BUILD/cuttle" }, { "STATES", "$BUILD/tests/support/states" },
  { "TESTS", "$BUILD" }, { "PLAYGROUND", "build/playground" },
  -- Its engines get each IR by way of a file.
  { "FILING", "$BUILD/irfile/cuttle" },
  { "RUN", "$LUA scripts/run_tests.lua --cuttle=$PROGRAM" },
  { "RUN_FILING", "$LUA scripts/run_tests.lua --cuttle=$FILING" },
  { "RUN_GPU", "$RUN --device=cuda" },
  { "RUN_ENGINE", "$RUN --platform=$PLATFORM --time-limit=$TIME_LIMIT" },
  { "PLATFORM", "none" }, { "TIME_LIMIT", "900" }, { "LAW_CHECKS", "200000" },
}

-- Each row: its runs, its tests, and the command. Tests are files that patterns of the shell find,
-- or one `name`. In the command {} is the file, {.} the file without `.c`, and {/} its name alone.
-- The first row that knows a test is that test's row.
local rows <const> = {
  { "asan", find = "tests/lua/kernel/*.lua tests/golden/*.lua", "$RUN_FILING {}" },
  { "asan", find = "examples/*.lua", "$RUN_FILING --by-status {}" },
  { "asan", name = "kernel_cases",
    "CUTTLE_DEVICE=cpu $FILING scripts/kernel_cases.lua tests/kernel_cases" },
  { "test", find = "examples/*.lua", "$RUN --by-status {}" },
  { "test", name = "kernel_cases",
    "CUTTLE_DEVICE=cpu $PROGRAM scripts/kernel_cases.lua tests/kernel_cases" },
  { "test asan", find = "tests/lua/*/*.lua tests/golden/*.lua tests/originals/*.lua", "$RUN {}" },
  { "test asan", find = "tests/fails/*.cases",
    "$STATES scripts/run_tests.lua --cuttle=$PROGRAM {}" },
  { "test asan", name = "conformance",
    "scripts/tap_status.sh $PROGRAM scripts/conformance.lua tests/conformance" },
  { "test asan gpu", find = "tests/device/*.lua", "$RUN_GPU {}" },
  -- Programs in C, which the Makefile builds.
  { "asan", find = "tests/laws/laws.c", "$BUILD/{.} 100000" },
  { "test asan", find = "tests/c/test_*.c tests/laws/laws.c", "$BUILD/{.}" },
  { "test asan gpu", find = "tests/device/test_*.c", "$BUILD/{.}" },
  { "test asan", find = "examples/embed/*.c", "scripts/tap_status.sh $BUILD/{.}" },
  { "asan", find = "tests/fuzz/calls_*.c", "$BUILD/{.}" },

  -- A stock Lua cannot load a sanitized module. The rest starts what is not sanitized, or runs no C
  -- of ours.
  { "test", find = "tests/module/*.lua",
    "LUA_CPATH=$BUILD/?.so $LUA scripts/run_tests.lua --cuttle=$LUA {}" },
  { "test", name = "exports", "$LUA tests/exports/exports.lua $BUILD" },
  { "test", name = "python", "hosts/python/tests/run.sh $BUILD" },
  { "test", name = "documents",
    "$LUA scripts/run_docs.lua --cuttle=$PROGRAM --built=$BUILD/docs *.md docs/*.md "
    .. "$BUILD/docs/docs/reference.md" },
  { "test", name = "compile", "scripts/compile_kernels.sh $FILING" },
  { "test", name = "scripts/check_reports.sh", "{} $STATES" },
  { "test", name = "fingerprints",
    "CUTTLE_DEVICE=cpu $PROGRAM --sm=90a scripts/fingerprints.lua tests/golden/fingerprints.txt" },
  { "test", name = "dot_loops_80", "CUTTLE_DEVICE=cpu $PROGRAM --sm=80 scripts/dot_loops.lua" },
  { "test", name = "dot_loops_90", "CUTTLE_DEVICE=cpu $PROGRAM --sm=90 scripts/dot_loops.lua" },
  { "test", find = "hosts/web/tests/test_*.js", "hosts/web/tests/run_node.sh {/}" },
  -- Fuzz targets bring their own sanitizers.
  { "test", find = "tests/fuzz/fuzz_*.c", "scripts/run_fuzz.sh $BUILD/fuzz/{.} $FUZZ_SECONDS" },
  { "test", name = "pages", "tests/browser/run.sh $PROGRAM" },
  { "test", find = "hosts/web/tests/test_*.py",
    "hosts/web/tests/run.sh $PLAYGROUND $PROGRAM {/}" },

  { "gpu", find = "examples/*.lua", "$RUN_GPU --by-status {}" },
  { "gpu", find = "tests/lua/dtype/*.lua tests/lua/graph/*.lua tests/lua/kernel/*.lua",
    "$RUN_GPU {}" },
  { "gpu", name = "kernel_cases",
    "CUTTLE_DEVICE=cuda $PROGRAM scripts/kernel_cases.lua tests/kernel_cases" },

  -- What needs nothing of a machine but a C library. `part` has what finds other bits soonest for
  -- its time. scripts/platforms/skips.lua says what a platform cannot run.
  { "engine part", name = "conformance",
    "scripts/tap_status.sh $PROGRAM scripts/conformance.lua tests/conformance/*.lua" },
  { "engine part", name = "kernel_cases",
    "CUTTLE_DEVICE=cpu $PROGRAM scripts/kernel_cases.lua tests/kernel_cases/*.lua" },
  { "engine part", name = "laws", "$TESTS/tests/laws/laws $LAW_CHECKS" },
  { "engine part", name = "left_out",
    "$LUA scripts/platforms/left_out.lua $PLATFORM tests/c/test_*.c" },
  { "engine part", find = "tests/fails/*.cases",
    "$STATES scripts/run_tests.lua --cuttle=$PROGRAM --platform=$PLATFORM {}" },
  { "engine", name = "fails_program", "$RUN_ENGINE --processes tests/fails" },
  { "engine", find = "examples/*.lua", "$RUN_ENGINE --by-status {}" },
  { "engine part", find = "tests/lua/layout/*.lua tests/lua/dtype/*.lua tests/lua/cpu/*.lua",
    "$RUN_ENGINE {}" },
  { "engine", find = "tests/golden/*.lua tests/lua/*/*.lua", "$RUN_ENGINE {}" },
  { "engine part", find = "tests/c/test_simt_ops.c tests/c/test_simt_fma.c "
    .. "tests/c/test_simt_tile.c tests/c/test_tensor_core.c", "$TESTS/{.}" },
  { "engine", find = "tests/c/test_*.c", "$TESTS/{.}" },
}

-- What a run leaves out of its folders, and why. A name that ends in `/` is a folder.
local left_out <const> = {
  { "asan", "random laws in Lua alone, or many random cases of what other tests reach", {
    "tests/lua/help/foreign.lua", "tests/lua/kernel/integer_law.lua",
    "tests/lua/kernel/reads_and_changes.lua",
    "tests/lua/matmul/bits_law.lua", "tests/lua/mesh/plan_laws.lua",
    "tests/lua/mesh/ranks_random.lua",
    "tests/lua/mesh/reshard_random.lua", "tests/lua/profile/brute.lua",
    "tests/lua/tensor/allclose_law.lua",
    "tests/lua/program/check_rare_orders.lua", "tests/lua/tune/store.lua",
    "tests/lua/tune/store_random.lua" } },
  { "asan", "all examples, operators or kernels of tests, once more", {
    "tests/lua/mesh/examples_start.lua", "tests/lua/program/check_clean.lua",
    "tests/lua/program/check_gallery.lua", "tests/lua/program/check_operators.lua",
    "tests/lua/program/export_examples.lua" } },
  { "asan", "most of its time is that of compilers and others that it starts, or of NVRTC", {
    "tests/lua/attention/compile.lua", "tests/lua/blackwell/compile_gemm.lua",
    "tests/lua/matmul/compile.lua", "tests/lua/matmul/compile_epilogue.lua",
    "tests/lua/matmul/compile_mma.lua", "tests/lua/matmul/tcgen05.lua",
    "tests/lua/matmul/tcgen05_scales.lua",
    "tests/lua/mesh/compile_gather.lua", "tests/lua/program/action.lua",
    "tests/lua/program/check_readers.lua", "tests/lua/program/compiler_explorer.lua",
    "tests/lua/program/copy_host.lua", "tests/lua/program/mcp_conformance.lua",
    "tests/lua/program/emission_compiles.lua", "tests/lua/program/export.lua",
    "tests/lua/program/helper_names.lua", "tests/lua/program/installed_hosts.lua",
    "tests/lua/program/mma_host.lua", "tests/lua/program/packages.lua",
    "tests/lua/program/report_schema.lua", "tests/lua/program/run_docs_hosts.lua",
    "tests/lua/program/sm120_compiles.lua" } },
  { "asan", "it ends a process by a signal that AddressSanitizer takes", {
    "tests/lua/program/mcp_client.lua" } },
  { "asan", "it looks at sources and scripts, and runs no C of ours", {
    "tests/lua/program/draw_sentences.lua", "tests/lua/program/gpu_check.lua",
    "tests/lua/program/luacheck_ledger.lua", "tests/lua/program/makefile_names.lua",
    "tests/lua/program/new_operation.lua", "tests/lua/program/new_type.lua",
    "tests/lua/program/rooms.lua", "tests/lua/program/tidy_ledger.lua",
    "tests/lua/program/together.lua" } },
  { "asan", "it runs long, on paths of C that other tests of its folder take", {
    "tests/lua/attention/backward.lua", "tests/lua/attention/backward_turns.lua",
    "tests/lua/attention/bits.lua", "tests/lua/attention/decode.lua",
    "tests/lua/attention/backward_packed.lua",
    "tests/lua/attention/score_backward.lua", "tests/lua/attention/scores.lua",
    "tests/lua/attention/table.lua",
    "tests/lua/attention/values.lua", "tests/lua/program/attention_faults.lua",
    "tests/lua/program/attention_gpu.lua", "tests/lua/program/judge_cheats.lua",
    "tests/lua/program/judge_tasks.lua", "tests/lua/rows/same_bits.lua",
    "tests/lua/selections/sample.lua", "tests/lua/bench/packed.lua",
    "tests/lua/bench/products.lua", "tests/lua/matmul/einsum.lua",
    "tests/lua/kernel/dot_idle.lua",
    "tests/lua/hopper/dot_wgmma.lua", "tests/lua/matmul/bits.lua", "tests/lua/matmul/check.lua",
    "tests/lua/matmul/few_rows.lua", "tests/lua/matmul/hopper.lua", "tests/lua/matmul/mma.lua",
    "tests/lua/matmul/nested.lua", "tests/lua/matmul/rows_f32.lua", "tests/lua/matmul/scales.lua",
    "tests/lua/matmul/table.lua",
    "tests/lua/matmul/tune_device.lua",
    "tests/lua/mesh/gather_matmul.lua", "tests/lua/mesh/matmul_scatter.lua",
    "tests/lua/mesh/sharded_matmul.lua", "tests/lua/program/bench_command.lua",
    "tests/lua/program/command_options.lua", "tests/lua/program/replay.lua",
    "tests/lua/trace/row_order.lua", "tests/lua/tune/bits.lua", "tests/lua/tune/device.lua",
    "tests/lua/tune/operators.lua" } },
  { "engine part", "it starts programs of this machine", { "tests/lua/program/" } },
  { "part", "messages of the library in Lua, whose numbers have 64 bits everywhere", {
    "tests/fails/einsum.cases", "tests/fails/expert_layer.cases", "tests/fails/matmul.cases",
    "tests/fails/packed_weights.cases", "tests/fails/sharded_operators.cases",
    "tests/fails/tune.cases" } },
}

-- Of `test`, what takes long and seldom breaks: .ci/run runs it, and `make test WHOLE=1`.
local only_whole <const> = {
  { "packages and hosts of what is installed: each builds several programs", {
    "tests/lua/program/copy_host.lua", "tests/lua/program/export_examples.lua",
    "tests/lua/program/installed_headers.lua", "tests/lua/program/installed_hosts.lua",
    "tests/lua/program/packages.lua", "tests/lua/program/run_docs_hosts.lua" } },
  { "all of tests/check and tests/fails, of which tests/lua/program/report_schema.lua takes a part",
    { "scripts/check_reports.sh" } },
  { "variants of emission, each compiled by NVRTC", { "tests/lua/program/emission_compiles.lua" } },
}

-- Arguments that make a sanitized program shorter.
local small <const> = dofile "tests/support/small.lua"

-- What ONCE=1 runs twice, though the sanitized run has it: where it matters what a compiler makes
-- of our C (names begin so), and what may do less there, which says one of these words.
local twice <const> = {
  names = { "examples/", "tests/device/", "tests/golden/", "tests/laws/", "tests/lua/atom/",
    "tests/lua/cpu/", "tests/lua/dtype/", "tests/lua/front/", "tests/lua/kernel/",
    "tests/lua/layout/", "tests/c/test_convert", "tests/c/test_simt", "tests/c/test_threads" },
  words = { "skip", "plain_c", "TAP_PART", "TAP_IS_SANITIZED", "SOME_OF", "__SANITIZE_" },
}

-- What takes longest begins first, so that the last processor is not alone with it.
local first <const> = {
  "pages", "compile", "hosts/web/tests/test_page.py", "documents", "scripts/check_reports.sh",
  "hosts/web/tests/test_notebook.py", "tests/lua/program/check_clean.lua",
  "hosts/web/tests/test_programs.py", "hosts/web/tests/test_looks.py",
  "hosts/web/tests/test_arrival.py", "python", "tests/c/test_sandbox.c",
  "hosts/web/tests/test_engine.py", "tests/lua/program/installed_hosts.lua",
  "tests/lua/program/export_examples.lua", "tests/lua/tune/operators.lua",
  "tests/lua/tune/bits.lua", "tests/lua/program/export.lua", "tests/lua/program/packages.lua",
  "tests/lua/program/replay.lua", "tests/c/test_tensor_core.c", "tests/c/test_rewrite.c",
  "tests/c/test_nomem.c", "tests/c/test_simt_convert.c", "tests/lua/mesh/nccl.lua",
  "tests/lua/program/selections_orders.lua", "tests/lua/matmul/packed_tune.lua",
  "tests/lua/attention/backward_pair.lua", "hosts/web/tests/test_notebook_script.js",
}

-- {====== Which tests ======

local function holds(words, word)
  return (" " .. words .. " "):find(" " .. word .. " ", 1, true) ~= nil
end

local runs <const> = {}
for _, row in ipairs(rows) do
  for run in row[1]:gmatch "%S+" do runs[run] = true end
end

local function set_of(list)
  local set = {}
  for _, x in ipairs(list) do set[x] = true end
  return set
end

local function lines_of(command)
  local pipe <close> = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  return lines
end

-- What the sanitized run leaves out by measurement: the lines of tests/golden/covered.txt whose
-- tests are as they were then.
local function add_covered(out)
  local file <close> = assert(io.open "tests/golden/covered.txt")
  local is_covered, names = {}, {}
  for line in file:lines() do
    is_covered[line], names[#names + 1] = true, line:match "^%d+ %d+ (.*)$"
  end
  for _, line in ipairs(lines_of("cksum " .. table.concat(names, " ") .. " 2>/dev/null")) do
    if is_covered[line] then
      out[line:match "^%d+ %d+ (.*)$"] = "others take all its edges: tests/golden/covered.txt"
    end
  end
end

-- Does a test do the same in the sanitized run, by which our C is seen as well?
local function is_once(name)
  local file <close> = io.open(name)
  if small[name] or not file then return false end
  for _, beginning in ipairs(twice.names) do
    if name:find(beginning, 1, true) == 1 then return false end
  end
  local text = file:read "a"
  for _, word in ipairs(twice.words) do
    if text:find(word, 1, true) then return false end
  end
  return true
end

local tests_of

local function add_sanitized(out)
  for _, test in ipairs(tests_of "asan") do
    if is_once(test.name) then out[test.name] = "the sanitized run beside it has it" end
  end
end

-- The names that this run leaves out.
local function left_out_of(run)
  local out = {}
  for _, row in ipairs(left_out) do
    for _, name in ipairs(holds(row[1], run) and row[3] or {}) do out[name] = row[2] end
  end
  if run == "asan" and os.getenv "COVERED" ~= "" then add_covered(out) end
  local is_whole = (os.getenv "WHOLE" or "") ~= ""
  if run == "test" and (os.getenv "ONCE" or "") ~= "" then add_sanitized(out) end
  for _, row in ipairs(run == "test" and not is_whole and only_whole or {}) do
    for _, name in ipairs(row[2]) do out[name] = row[1] end
  end
  if run == "part" and os.getenv "EMULATED" then
    out["tests/fails/"] = "under an emulator messages take too long"
  end
  return out
end

-- Files that patterns find: a pattern without one finds nothing.
local function found(patterns)
  return lines_of(("for f in %s; do [ ! -f $f ] || echo $f; done"):format(patterns))
end

-- The tests of a run as a list of {name, row}.
function tests_of(run)
  local tests, seen, without = {}, {}, left_out_of(run)
  local skip_reason = dofile "scripts/platforms/skips.lua"
  local platform = os.getenv "PLATFORM" or "none"
  for _, row in ipairs(rows) do
    local names = holds(row[1], run) and (row.name and { row.name } or found(row.find)) or {}
    for _, name in ipairs(names) do
      local is_out = without[name] or without[name:match "^.*/"]
        or name:find "%.c$" and skip_reason(platform, (name:gsub("%.c$", "")))
      if not seen[name] and not is_out then tests[#tests + 1] = { name = name, row = row } end
      seen[name] = true
    end
  end
  return tests
end

local function list(run)
  local tests, begins = tests_of(run), set_of(first)
  for _, name in ipairs(first) do
    for _, test in ipairs(tests) do
      if test.name == name then print(name) end
    end
  end
  for _, test in ipairs(tests) do
    if not begins[test.name] then print(test.name) end
  end
end

-- {====== Running one ======

-- Does one of the patterns of a row fit the name?
local function fits(row, name)
  for pattern in (row.find or ""):gmatch "%S+" do
    local whole = pattern:gsub("%p", "%%%0"):gsub("%%%*", "[^/]*")
    if name:find("^" .. whole .. "$") then return true end
  end
  return row.name == name
end

local function row_of(run, name)
  for _, row in ipairs(rows) do
    if holds(row[1], run) and fits(row, name) then return row end
  end
  error(("no test %s in the run %s"):format(name, run), 0)
end

local function one(run, name)
  local command = row_of(run, name)[2]:gsub("{([./]?)}", {
    [""] = name, ["."] = (name:gsub("%.c$", "")), ["/"] = name:match "[^/]*$" })
  if run == "asan" and small[name] then
    command = ("%s --arguments='%s'"):format(command, small[name])
  end
  local words = {}
  for _, setting in ipairs(settings) do
    words[#words + 1] = ('%s=${%s-"%s"}'):format(setting[1], setting[1], setting[2])
  end
  words[#words + 1] = (command:find "^[A-Z_]+=" and "exec env " or "exec ") .. command
  local _, _, code = os.execute(table.concat(words, "\n"))
  os.exit(code)
end

local commands <const> = {
  list = list,
  one = one,
  left_out = function(run)
    for name, why in pairs(left_out_of(run)) do print(name .. ": " .. why) end
  end,
}

local what, run, name = ...
if not commands[what] or not runs[run] then
  error("usage: suites.lua list|one|left_out test|asan|gpu|engine|part [NAME]", 0)
end
commands[what](run, name)
