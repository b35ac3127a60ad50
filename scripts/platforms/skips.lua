-- skips.lua: the tests that cannot run on a platform, and why. Gives a function: the reason of a
-- platform for a test, or nil. A row names a test, the beginning of the paths of several, or a case
-- of a table. Beside these, run_tests.lua skips the rest of a program that asks for a process where
-- there are none.
local no_processes <const> = "it starts a process, which a program of WebAssembly cannot"
local no_threads <const> = "it starts a thread, which a program of WebAssembly cannot"
local no_signals <const> = "it waits for a signal, which does not reach WebAssembly"
local no_libraries <const> = "it loads a shared library, which this program cannot"
local no_nvrtc <const> = "it loads NVRTC, which is here for this machine's programs only"
local no_tools <const> = "it loads the C part of the benchmarks, which is built for this machine"

local rows = {
  wasm = {
    { "tests/lua/program/", no_processes },
    { "tests/lua/bench/regimes.lua", no_libraries },
    { "tests/lua/bench/layouts.lua", "its clock of CPU time counts milliseconds" },
    { "tests/lua/search/ctrl_c.lua", no_signals },
    { "tests/lua/kernel/nvrtc_errors.lua", no_libraries },
    { "tests/lua/kernel/swizzled_vectors.lua", no_libraries },
    { "tests/lua/mesh/ipc.lua", no_processes },
    { "tests/lua/matmul/tune_device.lua", no_processes },
    { "tests/lua/tune/command.lua", no_processes },
    { "tests/lua/tune/device.lua", no_processes },
    { "tests/lua/tune/operators.lua", no_processes },
    { "tests/lua/tune/killed.lua", no_processes },
    { "tests/lua/tune/watched.lua", no_processes },
    { "tests/c/test_bench_tools", no_libraries },
    { "tests/c/test_cache", no_processes },
    { "tests/c/test_device", no_libraries },
    { "tests/c/test_device_ipc", no_processes },
    { "tests/c/test_dl", no_processes },
    { "tests/c/test_nccl", no_libraries },
    { "tests/c/test_newfile", no_processes },
    { "tests/c/test_nomem", no_processes },
    { "tests/c/test_nvrtc", no_libraries },
    { "tests/c/test_repl", "it needs a terminal of its own" },
    { "tests/c/test_rewrite", "it lists files by a process" },
    { "tests/c/test_sandbox", no_threads },
    { "tests/c/test_threads", no_threads },
    { "tests/c/test_wrong_arguments", no_processes },
  },
  aarch64 = {
    { "tests/lua/bench/attention.lua", no_tools },
    { "tests/lua/bench/hopper.lua", no_tools },
    { "tests/lua/bench/regimes.lua", no_tools },
    { "tests/lua/bench/packed.lua", no_tools },
    { "tests/lua/bench/scaled.lua", no_tools },
    { "tests/lua/bench/few_rows.lua", no_tools },
    { "tests/lua/front/random_c.lua", "it starts a C program that it has compiled for the other" },
    { "tests/lua/mesh/ipc.lua", no_nvrtc },
    { "tests/lua/mesh/overlap_devices.lua", no_nvrtc },
    { "tests/lua/matmul/compile.lua", no_nvrtc },
    { "tests/lua/matmul/compile_epilogue.lua", no_nvrtc },
    { "tests/lua/matmul/compile_hopper.lua", no_nvrtc },
    { "tests/lua/matmul/compile_mma.lua", no_nvrtc },
    { "tests/lua/matmul/compile_packed.lua", no_nvrtc },
    { "tests/lua/matmul/compile_waits.lua", no_nvrtc },
    { "tests/c/test_nvrtc", no_nvrtc },
  },
  musl = {
    { "tests/lua/attention/compile.lua", no_libraries },
    { "tests/lua/bench/attention.lua", no_libraries },
    { "tests/lua/bench/hopper.lua", no_libraries },
    { "tests/lua/bench/regimes.lua", no_libraries },
    { "tests/lua/bench/packed.lua", no_libraries },
    { "tests/lua/bench/scaled.lua", no_libraries },
    { "tests/lua/bench/few_rows.lua", no_libraries },
    { "tests/lua/mesh/compile_gather.lua", no_libraries },
    { "tests/lua/mesh/fake_devices.lua", no_libraries },
    { "tests/lua/mesh/ipc.lua", no_libraries },
    { "tests/lua/mesh/launchers.lua", no_libraries },
    { "tests/lua/mesh/nccl.lua", no_libraries },
    { "tests/lua/mesh/overlap_devices.lua", no_libraries },
    { "tests/lua/matmul/compile.lua", no_libraries },
    { "tests/lua/matmul/compile_epilogue.lua", no_libraries },
    { "tests/lua/matmul/compile_hopper.lua", no_libraries },
    { "tests/lua/matmul/compile_mma.lua", no_libraries },
    { "tests/lua/matmul/compile_packed.lua", no_libraries },
    { "tests/lua/matmul/compile_waits.lua", no_libraries },
    { "tests/lua/kernel/nvrtc_errors.lua", no_libraries },
    { "tests/lua/kernel/swizzled_vectors.lua", no_libraries },
    { "tests/c/test_dl", no_libraries },
    { "tests/c/test_sandbox", no_libraries },
    { "tests/c/test_nvrtc", no_libraries },
    { "tests/c/test_nccl", no_libraries },
  },
}

-- A path that ends as a name does is that name's only: test_embed is not test_embed_again.
local function begins(path, row)
  return path == row or (row:match("/$") and path:sub(1, #row) == row)
end

return function(platform, path)
  for _, row in ipairs(rows[platform] or {}) do
    if begins(path, row[1]) then
      return row[2]
    end
  end
end
