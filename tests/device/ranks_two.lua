-- Kernels of ranks that wait for each other, on two GPUs of one process: right by their values, whatever the host does
-- between launches. A kernel that waits for ever is ended by Ctrl-C, and by a limit. Prints TAP.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
if #devices() < 3 then
  tap.skip_all "needs two CUDA devices"
end

local dir = shell.folder()
local function write(name, text)
  local file = assert(io.open(("%s/%s"):format(dir, name), "w"))
  file:write(text)
  file:close()
  return ("%s/%s"):format(dir, name)
end

-- The output of a shell line, in which scripts are called by their name alone, and its result.
local function capture(line)
  local out, code = shell.run(line)
  return out:gsub(dir .. "/", ""), code
end

-- The kernel is made by each rank; its lists, its memory and its barrier of the grid by each call.
local rotate = write("rotate.lua", [[
local n, B <const>, T <const>, N <const> = 2, 8, 128, 4096
local sys = { scope = "sys" }
local m = mesh{ d = n }
local x = m:zeros(f32, { n, N }, "(r@d,e)")
local flags = m:zeros(i32, { n, n, B, 2 }, "(r@d,from,block,phase)")
local function all(t, shape)
  local list = {}
  for rank = 0, n - 1 do list[rank + 1] = view(peer_tensor(t, rank), shape) end
  return list
end
m:run(function(r)
  local rotate = kernel("rotate", function(parts, flags, out, me, call)
    local i, b, step = threadIdx.x, blockIdx.x, gridDim.x * blockDim.x
    local function meet(phase)
      sync_threads()
      if i < n then
        atomic_store(flags[i + 1], { me, b, phase }, call, sys)
        while atomic_load(flags[me + 1], { i, b, phase }, sys) < call do end
      end
      sync_threads()
    end
    meet(0)
    local from = (me + 1) % n
    for j = b * blockDim.x + i, N - 1, step do out[j] = parts[from + 1][j] + 1.0 end
    sync_grid()
    meet(1)
    for j = b * blockDim.x + i, N - 1, step do parts[me + 1][j] = out[j] end
  end)
  local mine, call = view(x:part(r.rank), N), 0
  copy(full(f32, N, r.rank), mine)
  r:barrier()
  for turn = 1, 4 do
    for _ = 1, 5 do
      call = call + 1
      rotate{ grid = B, block = T, cooperative = true }(all(x, N), all(flags, { n, B, 2 }),
        zeros(f32, N), i32(r.rank), i32(call))
      if call % 3 == 0 then collectgarbage() end
    end
    if turn % 2 == 0 then
      r:barrier()
    else
      local one = full(f32, 4, 1)
      r:all_reduce(one)
      assert(one[0] == n)
    end
  end
  local wanted = (r.rank + call) % n + call
  for _, v in ipairs(mine:totable()) do assert(v == wanted) end
end)
print "right"
]])
tap.is(capture(("timeout -s KILL 120 '%s' --device=cuda '%s'"):format(arg[-1], rotate)), "right\n",
  "launches with lists, memory, barriers of the grid and garbage between them")

-- Rank 1 launches nothing. The script says when it waits.
local prelude = [[
local m = mesh{ d = 2 }
local x, flags = m:zeros(f32, { 2, 64 }, "(r@d,e)"), m:zeros(i32, { 2, 64 }, "(r@d,e)")
local lonely = kernel("lonely", function(flags, x, me)
  while atomic_load(flags[me + 1], threadIdx.x, { scope = "sys" }) < 1 do end
  x[threadIdx.x] = 1.0
end)
local function launch(r)
  local list = { view(peer_tensor(flags, 0), 64), view(peer_tensor(flags, 1), 64) }
  lonely{ grid = 1, block = 32 }(list, view(x:part(r.rank), 64), i32(r.rank))
  io.stderr:write "waits\n"
end
m:run(function(r)
  r:barrier()
  if r.rank == 0 then launch(r) end
  %s
end)
]]
local kernels = "kernel 'lonely' %(x.lua:3%)"
local report = "\n  rank 0 [^\n]*\n    on its device " .. kernels .. " may still run\n  rank 1 "
local cases = {
  { "in a collective", "r:barrier()", report },
  { "in an element", "if r.rank == 0 then print(view(x:part(), 64)[3]) end", report },
  { "at the end", "", kernels },
}
local interrupt = [[
timeout -s KILL 40 "$@" > '%s/out' 2>&1 & job=$!
until grep -qs waits '%s/out'; do sleep 0.1; done
sleep 3
kill -INT $job
wait $job
echo "exit code $?" >> '%s/out'
cat '%s/out'
]]
local sh = write("interrupt.sh", "set -m\n" .. interrupt:gsub("%%s", dir))
for _, case in ipairs(cases) do
  local script = write("x.lua", (prelude:gsub("%%s", case[2])))
  local program = ("'%s' --device=cuda '%s'"):format(arg[-1], script)
  local out = capture(("timeout -s KILL 60 sh '%s' %s"):format(sh, program))
  tap.ok(out:find(case[3]) ~= nil and out:find "exit code 130\n", "Ctrl-C " .. case[1], out)
  os.remove(dir .. "/out")
  local code
  out, code = capture("CUTTLE_COMM_TIMEOUT=3 timeout -s KILL 60 " .. program)
  tap.ok(out:find("device: " .. kernels .. " on cuda:0 did not end within 3.0 s") ~= nil
    and code == 1, "a limit " .. case[1], out)
end
os.execute(("rm -r '%s'"):format(dir))
tap.done()
