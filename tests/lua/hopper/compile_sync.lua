-- What barriers and roles of warps are emitted as: it compiles for sm_90a; older devices are refused.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local path = os.tmpname()
local function write(text) shell.write_file(path, text) end
local function run(options) return (shell.cuttle("emit %s %s", options, path)) end

write [[
local everything = kernel("everything", function(A, C, n)
  local full, empty = mbarrier(4, 1), mbarrier(4, 3)
  sync_threads()
  if threadIdx.x < 128 then
    setmaxnreg(40)
    local state = pipeline_state(4, {parity = 1})
    for i in range(n) do
      empty[state.slot]:wait(state.parity)
      if elect_one() and threadIdx.x < 32 then
        full[state.slot]:expect_tx(0)
        full[state.slot]:arrive_expect_tx(n - 1)
      end
      state:advance(n)
    end
  else
    setmaxnreg(232)
    if threadIdx.x % 128 == 0 then empty[1]:arrive(0) end
    named_barrier(threadIdx.x // 128, 128):sync()
    named_barrier(4, 384):arrive()
    if full[n - 1]:test(0) then C[threadIdx.x] = A[threadIdx.x] end
  end
end)
local B, C = ones(f32, 384), zeros(f32, 384)
everything{grid = 1, block = 384}(B, C, 1)
assert(C[383] == 1 and C[127] == 0)
]]
local out = run "--sm=90a --compile"
if out:find("cannot load", 1, true) then
  os.remove(path)
  tap.skip_all "no NVRTC on this machine"
end
local body = out:match 'extern "C".*' or out
for _, text in ipairs{
  "unsigned long long full[4];", "mbar_init(full, 4, 1);", "fewer_registers<40>();",
  "more_registers<232>();",
  "int state_slot = 0;", "int state_parity = 1;", "mbar_wait(&empty[state_slot], state_parity);",
  "mbar_expect_tx(&full[state_slot], 0);", "mbar_arrive_expect_tx(&full[state_slot], ",
  "mbar_arrive_at(&empty[1], 0);", "named_barrier_sync(",
  "named_barrier_arrive(4, 384);", "elect_one();",
  "mbar_test(&full[",
} do
  if not body:find(text, 1, true) then print("missing: " .. text) end
end
print((select(2, out:gsub("error", "")))) -- expect: 0

for _, case in ipairs{
  {75, "mbarrier(1, 1)"}, -- expect: mbarrier: it needs sm_80, but the kernel is compiled for sm_75; the CPU engine runs it
  {80, "mbarrier(1, 1):wait(0)"}, -- expect: wait: it needs sm_90, but the kernel is compiled for sm_80; the CPU engine runs it
  {86, "elect_one()"}, -- expect: elect_one: it needs sm_90, but the kernel is compiled for sm_86; the CPU engine runs it
  {89, "mbarrier(1, 1):expect_tx(4)"}, -- expect: expect_tx: it needs sm_90, but the kernel is compiled for sm_89; the CPU engine runs it
  {100, "setmaxnreg(40)"}, -- expect: setmaxnreg: it needs sm_90a, but the kernel is compiled for sm_100; the CPU engine runs it
} do
  local text = "kernel('k', function(x) x[0] = 1; %s end){grid = 1, block = 128}(zeros(f32, 1))"
  write(text:format(case[2]))
  print((run("--sm=" .. case[1]):match ": (.-)\n"))
end
os.remove(path)
