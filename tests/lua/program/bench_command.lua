-- `cuttle bench`: the times of a script's kernels as a table and as JSON, and products beside
-- cuBLAS; on the CPU engine, and on a device that is played by a driver of tests/c.
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1], arg[0]:match("^(.*)tests/lua/") or "./"
local n = 0

local function check(name, ok, got)
  n = n + 1
  print(("%s %d - %s"):format(ok and "ok" or "not ok", n, name))
  if not ok then print("# got: " .. tostring(got):gsub("\n", "\n# ")) end
end

local temporary = shell.file

local function run(environment, arguments, redirect)
  return shell.run("%s '%s' %s </dev/null %s", environment, cuttle, arguments, redirect or "2>&1")
end

local cpu = "CUTTLE_DEVICE=cpu"
local script = temporary [[
local k = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2.0 end)
local x = ones(f32, 32)
for _ = 1, 3 do k{grid = 1, block = 32}(x) end
k{grid = 1, block = 32}:enqueue(4, x)
local y = ones(f32, 32)
local ms, fastest, slowest = bench(k:prepare{grid = 1, block = 32}(y), {reps = 4, batches = 3})
k{grid = {2, 3}, block = {32, 1, 1}}(x)
local A = ones(f32, {64, 32})
local C = matmul(A, A)
matmul(A, A, C)
print(x[0], C[{3, 4}], fastest <= ms and ms <= slowest)
]]

-- {====== The CPU engine ======

local out, code = run(cpu, ("bench '%s'"):format(script))
check("the script runs as it does alone", code == 0 and out:find "^8192.0\t32.0\ttrue\n", out)
check("a line for each specialisation and grid",
  select(2, out:gsub("\ntwice %(%S+:1%) ", "%0")) == 2
    and out:find("\ntwice %(%S+:1%) +1 +32 +%d+ +[%d.]+ +[%d.]+ +[%d.]+ +[%d.]+\n")
    and out:find("\ntwice %(%S+:1%) +2x3 +32 +1 "), out)
check("what the script benches has a line",
  out:find("\nbench %(%S+:6%) +twice +[%d.]+ +[%d.]+ +[%d.]+\n"), out)
check("the operator's kernels, too", out:find("\nmatmul_f32 %(%S+%) +2x2 +%d+ +2 "), out)
check("nothing is beside them", not out:find "cuBLAS", out)

local function find(list, name, grid)
  for _, row in ipairs(list) do
    if row.name == name and (not grid or row.grid[1] == grid) then return row end
  end
end

local path = os.tmpname()
out, code = run(cpu, ("bench --json='%s' '%s'"):format(path, script))
check("JSON goes to a file, whose name is printed", code == 0 and out:find(path, 1, true), out)
local file = assert(io.open(path))
local text = file:read "a"
file:close()
local load_json = load("return " .. text:gsub('"([%w_]+)":', "%1="):gsub("%[", "{"):gsub("%]", "}"))
local report = load_json and load_json() or {}
local row = find(report.kernels or {}, "twice", 1) or {}
check("JSON has the launches and their times", row.launches and row.launches >= 3 + 4 + 12
  and row.line == 1 and row.file == script and row.fastest_ms <= row.median_ms
  and row.median_ms <= row.slowest_ms and row.total_ms >= 7 * row.fastest_ms, text)
check("launches of bench are counted, not timed",
  row.total_ms and row.total_ms < row.slowest_ms * 7.5 and report.calls[1].line == 6
    and report.calls[1].kernels[1] == "twice", text)
check("and the device", report.device == "CPU engine", text)
out = run(cpu, ("bench --json '%s'"):format(script), "2>/dev/null")
check("JSON alone on standard output", out:find "^{" and out:find "}\n$", out)

-- {====== Failures ======

local function fails(name, arguments, want, want_code)
  local got, got_code = run(cpu, "bench " .. arguments)
  check(name, got == want and got_code == (want_code or 1), got .. tostring(got_code))
end

fails("without a script", "", "bench: a script was expected; see cuttle bench --help\n")
fails("an unknown option", "--fast x.lua",
  "bench: unknown option --fast; see cuttle bench --help\n")
fails("a script that is not there", "nowhere.lua",
  "bench: cannot open nowhere.lua: No such file or directory\n")
local idle, failing = temporary "print(1)", temporary "error('so', 0)"
fails("a script that launches nothing", idle, ("1\nbench: %s launched no kernel\n"):format(idle))
fails("a script that fails", failing, "so\n")
out, code = run(cpu, "bench --help")
check("--help", code == 0 and out:find "^usage: cuttle bench", out)
local nested = temporary [[
local k = kernel(function(x) x[threadIdx.x] = 1.0 end)
local launch = k:prepare{grid = 1, block = 32}(zeros(f32, 32))
bench(function() error("inside", 0) end)
]]
fails("an error in bench", nested, "inside\n")

-- {====== Products ======

out = run(cpu, "bench matmul f16 TN 64 40x24x32")
check("a line for each product",
  out:find("^f16  TN 64x64x64 +cpu %d+x%d+x%d+ +[%d.]+ ms +[%d.]+ GFLOP/s  correct\n"
    .. "f16  TN 40x24x32 +cpu [^\n]+ correct\n$"), out)
out = run(cpu, "bench --json matmul 32 --config='cpu 32x32x8'")
check("JSON of products", select(2, out:gsub('"config":"cpu 32x32x8"', "")) == 2
  and out:find '"is_right":true', out)
out = run(cpu, "bench matmul --all f32 NT 256")
check("all configurations", select(2, out:gsub("\n", "")) == 3 and out:find "%*cpu", out)
fails("an unknown word", "matmul f33",
  "bench matmul: 'f33' is not an element type, majorness or size; see cuttle bench matmul --help\n")
fails("an unknown option", "matmul --warm",
  "bench matmul: there is no option '--warm'; see cuttle bench matmul --help\n")

-- {====== A device ======

local function build(source, flags)
  local library = os.tmpname()
  local command = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC %s -I'%s.' '%s%s' -o '%s'")
    :format(os.getenv("CC") or "cc", flags, here, here, source, library)
  return os.execute(command .. " 2>/dev/null") and library
end

local driver = build("tests/c/fake_libcuda.c", "-DWITHOUT_PARAM_INFO")
local libraries = build("tests/c/fake_libraries.c", "")
local nvrtc = run(cpu, "info"):find "\nNVRTC +%d"
if not (driver and libraries and nvrtc) then
  print(("ok %d - a device # SKIP no C compiler or no NVRTC"):format(n + 1))
  print(("1..%d"):format(n + 1))
  os.exit(true, true)
end
local device = ("CUTTLE_LIBCUDA='%s' CUTTLE_CUBLAS='%s' CUTTLE_CUBLASLT='%s' CUTTLE_NVML='%s'")
  :format(driver, libraries, libraries, libraries) .. " CUTTLE_DEVICE=cuda"
local on_device = temporary [[
local k = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2.0 end)
local x = ones(f32, 32)
for i = 1, 1300 do k{grid = 1, block = 32}(x) end
k{grid = 1, block = 32}:enqueue(5, x)
local s = stream()
k{grid = 2, block = 32, stream = s}(x)
bench(k:prepare{grid = 1, block = 32}(x), {reps = 4, batches = 3})
local A = ones(f32, {64, 64})
matmul(A, A, matmul(A, A))
]]
out, code = run(device, ("bench '%s'"):format(on_device))
check("on a device", code == 0, out)
check("between two events, 1.5 ms by this driver",
  out:find("\ntwice %(%S+:1%) +1 +32 +%d+ +1.5000 +0.3000 +1.5000 +1951.5000\n")
    and out:find("\ntwice %(%S+:1%) +2 +32 +1 +1.5000 +1.5000 +1.5000 +1.5000\n"), out)
check("bench by its own events",
  out:find("\nbench %(%S+:7%) +twice +0.3750 +0.3750 +0.3750\n"), out)
check("a product beside cuBLAS, once",
  select(2, out:gsub("\nmatmul 64x64x64 f32, simt [^\n]+ cuBLAS [%d.]+ ms, ratio 1.000", "")) == 1,
  out)
check("comparing is not counted", out:find("\nmatmul_f32 %(%S+%) +1 +%d+ +2 +1.5000"), out)

-- {====== What scripts/bench measures, on that device ======

local hopper = "scripts/bench/main.lua hopper --quick --rounds=1 "
out, code = run(device, hopper .. "--regime=sus --lt=2 bf16 2048")
check("products beside cuBLAS and cuBLASLt, with sensors", code == 0
  and out:find("\n  cublasGemmEx default +[%d.]+ +1.000 +1.000 +1455 +650  ")
  and out:find("\n  cublasLt 2 of 3 +[%d.]+ +1.000 +1.000 +1455 +650  equal\n"), out)
out, code = run(device, hopper .. "--regime=eq --lt=1 f8e4m3")
check("fp8 beside cuBLASLt's first", code == 0 and out:find "\n  cublasLt 1 of 3, default ", out)
out, code = run(device, "scripts/bench/main.lua launch moye")
check("launches and MoYe's product", code == 0 and out:find "by hand +0.1154 ms"
  and out:find "\n  cuBLAS  ", out)

-- {====== A mesh ======

out, code = run(cpu, "bench mesh --ranks=3 64K 16")
local move = " +64 KiB +[%d.]+ ms +[%d.]+ GB/s +model [%d.]+ ms\n"
check("what spreads tensors anew", code == 0 and out:find "^3 devices: CPU engine"
  and out:find("\nall_gather" .. move) and out:find("\nreduce_scatter" .. move)
  and out:find("\nall_reduce" .. move) and out:find("\nall_to_all" .. move), out)
check("and products of sharded tensors",
  select(2, out:gsub("\nproduct, %a+ +16 f32 +[%d.]+ ms +one device [%d.]+ ms, ratio ", "")) == 4,
  out)
out, code = run(cpu, "bench mesh --ranks=2 --json all_reduce columns 4K 8")
check("one row of each, as JSON", code == 0 and out:find '"ranks":2' and out:find '"bytes":4096'
  and not out:find "all_gather" and out:find '"name":"product, columns"', out)
out, code = run(cpu, "bench mesh all_recude")
check("a word that is no row",
  code == 1 and out:find("bench mesh: 'all_recude' is neither a row nor a size", 1, true), out)

print(("1..%d"):format(n))
