-- Launches in files: what `capture` writes and CUTTLE_CAPTURE keeps runs again, with the same results,
-- and tells under `check` what the first launch did wrong.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local program = arg[-1]
local folder = shell.folder()
local file = folder .. "/launch.ctk"

local read = shell.read_file

local function write(path, text)
  os.remove(path) -- else some file systems write it to the disk at once
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local run = shell.run

-- {====== Results ======

local function is_tensor(x) return type(x) == "userdata" and not not tostring(x):find "^tensor" end

local function count_differences(a, b)
  local x, y, n = a:totable(), b:totable(), 0
  for i = 1, #x do n = n + (x[i] == y[i] and 0 or 1) end
  return n
end

-- Captures the launch with its data, runs it, and compares what its tensors hold with what the launch
-- of the file makes of its own.
local function same(name, k, config, ...)
  local args = table.pack(...)
  capture(k:prepare(config)(...), file, { data = true })
  k(config)(...)
  local launch, again = replay(file)
  local n, n_tensors = 0, 0
  launch()
  for i = 1, args.n do
    local a = args[i]
    for j, t in ipairs(is_tensor(a) and { a } or type(a) == "table" and a or {}) do
      n = n + count_differences(t, type(a) == "table" and again[i][j] or again[i])
      n_tensors = n_tensors + 1
    end
  end
  tap.ok(n == 0 and n_tensors > 0 and again.n == args.n, name, n .. " elements differ")
end

local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
same("tensors and a number", saxpy, { grid = 4, block = 32 }, 2.5, rand(f32, 100), rand(f32, 100))

local number = kernel("number", function(h, b, e, l, w, c, yes, out)
  if threadIdx.x == 0 then
    out[0], out[1], out[2] = f32(h), f32(b), f32(e)
    out[3], out[4], out[5] = f32(l), f32(w), f32(c)
    out[6] = yes and 1 or 0
  end
end)
same("numbers of all kinds", number, { grid = 1, block = 32 }, f16(1.5), bf16(-3), f64(1e9),
  i64(1 << 40), u32(7), i32(-9), true, zeros(f32, 8))

local memory = rand(f32, 64)
local shift = kernel("shift", function(x, y) y[threadIdx.x] = x[threadIdx.x] + 1 end)
same("tensors that overlap", shift, { grid = 1, block = 1 }, memory, memory)
same("a stride", shift, { grid = 1, block = 8 }, rand(f32, layout({ 8 }, { 3 })), zeros(f32, 8))

local sums = kernel("sums", function(list, y)
  local i = threadIdx.x
  local sum = f32(0)
  for j = 1, #list do sum = sum + list[j][i] end
  y[i] = sum
end)
same("a list", sums, { grid = 1, block = 16 }, { rand(f32, 16), rand(f32, 16), rand(f32, 32) },
  zeros(f32, 16))

local fixed = kernel("fixed", function(n, x, y) y[threadIdx.x] = x[threadIdx.x] * n end)
local prepare = fixed:prepare { grid = 1, block = 8 }
capture(prepare(static(3), ones(f32, 8), zeros(f32, 8)), file, { data = true })
local launch, args, info = replay(file)
launch()
tap.is(args.n, 2, "a constant is no argument any more")
tap.is(args[2][7], 3.0, "and is in the kernel")
tap.is(("%s %s %d"):format(info.kernel, info.chunk, info.block[1]),
  "fixed tests/lua/program/replay.lua 8", "what is known of the launch")

-- Without data the elements are zeros.
capture(prepare(static(3), ones(f32, 8), ones(f32, 8)), file)
args, info = select(2, replay(file))
tap.ok(args[1][3] == 0 and args[2][3] == 0 and not info.has_data, "no data: zeros")
local bytes = read(file)
capture(prepare(static(3), ones(f32, 8), ones(f32, 8)), file)
tap.ok(read(file) == bytes, "the same launch is the same bytes")

-- {====== What an exported program writes ======

-- launch_file.lua says what: no more than the IR and the values that are passed.
local function floats(t) return ("<" .. ("f"):rep(#t)):pack(table.unpack(t)) end
local xs, ys = rand(f32, 100), rand(f32, 100)
capture(saxpy:prepare { grid = 4, block = 32 } (2.5, xs, ys), file)
local whole = read(file)
local n_header, n_ir = ("<I8I8"):unpack(whole, 17)
local ir = whole:sub(33 + n_header, 32 + n_header + n_ir)
local a = ("<I4"):unpack(("<f"):pack(2.5))
local head = ("<I8"):rep(10):gsub("<", ""):gsub("^", "<")
local sealed = dofile "tests/support/sealed.lua"
write(file, sealed("CUTTLESL" .. head:pack(2, #ir, 5, 4, 1, 1, 0, 0, 4, 1)
  .. ("<I8I8I8I8I8"):pack(a, 0x7f0000001000, 100, 0x7f0000002000, 100)
  .. ("<I8I8I8I8I8"):pack(0, 400, 0, 400, 0) .. "H200" .. ir
  .. floats(xs:totable()) .. floats(ys:totable())))
launch, args, info = replay(file)
saxpy { grid = 4, block = 32 } (2.5, xs, ys)
launch()
tap.is(table.concat(args[3]:totable(), " "), table.concat(ys:totable(), " "),
  "a launch of an exported kernel")
tap.is(info.device, "H200", "and its device")

-- {====== What is no launch ======

local function fails(name, text, want)
  write(file, text)
  local ok, why = pcall(replay, file)
  tap.ok(not ok and why:find(want, 1, true) and why:find(file, 1, true), name, why)
end
fails("another file", "return 1", "replay: the file holds no launch")
fails("another version", bytes:sub(1, 8) .. "\7" .. bytes:sub(10),
  "replay: file of version 7; this library reads 3")
fails("a file that ends early", bytes:sub(1, -2), "replay: the file is damaged: its bytes are not")
fails("one with more after it", bytes .. "x", "replay: the file is damaged: its bytes are not")
fails("an early end that is sealed", sealed(bytes:sub(1, 60)), "damaged: it ends too early")
fails("more data that are sealed", sealed(bytes:sub(1, -9) .. "x"), "damaged: its data do not fit")
-- Every fourth byte, as each is as much a part of the sum as its neighbours; launch_file.lua changes any.
local n_read = 0
for i = 33, #bytes, 4 do
  write(file, bytes:sub(1, i - 1) .. string.char(bytes:byte(i) ~ 4) .. bytes:sub(i + 1))
  local ok, l = pcall(replay, file)
  if ok and pcall(l) then n_read = n_read + 1 end
end
tap.is(n_read, 0, "a byte changed: an error")
n_read = 0
for i = 33, #bytes - 8, 4 do
  write(file, sealed(bytes:sub(1, i - 1) .. string.char(bytes:byte(i) ~ 4) .. bytes:sub(i + 1, -9)))
  local ok, l = pcall(replay, file)
  if ok and pcall(l) then n_read = n_read + 1 end
end
tap.ok(n_read < #bytes // 4, "by whoever seals it: an error, or another launch", n_read)

-- {====== Faults ======

-- Each program runs without `check`, and each of its launches stays in a file. `cuttle check` of
-- these says what it says of the program.
local faults = { "missing_barrier", "missing_barrier_at_loop_end", "missing_sync_warp",
  "missing_wait", "wrong_wait_count", "off_by_one_bound", "off_by_one_tile", "divergent_barrier",
  "mismatched_barriers",
  "deadlock_between_warps", "mbarrier_missing_wait", "tma_read_before_wait", "wgmma_not_fenced",
  "race_between_blocks", "uninitialised_element", "coordinate_of_short_mode", "list_alias_race",
  "last_block_without_fence", "overflow_of_index", "overflow_of_counter" }

local function expected(path)
  local lines, n = {}, 0
  for line in read(path):gmatch "([^\n]*)\n" do
    n = n + 1
    for _ in line:gmatch "%-%- finds: " do lines[#lines + 1] = n end
  end
  return table.concat(lines, " ")
end

local function found(path)
  local lines = {}
  local each = "for f in $(ls -tr %s/*.ctk); do CUTTLE_THREADS=1 %s replay --check%s $f; done"
  local also = read(path):match "^%-%- check: (%l+)\n"
  local out = run(each:format(folder, program, also and "=" .. also or ""))
  for line in ("\n" .. out):gmatch("\n(" .. path:gsub("%p", "%%%0") .. ":%d+): ") do
    lines[#lines + 1] = math.tointeger(tonumber(line:match ":(%d+)$"))
  end
  table.sort(lines)
  return table.concat(lines, " ")
end

for _, name in ipairs(faults) do
  local path = "tests/check/" .. name .. ".lua"
  run("rm -f " .. folder .. "/*")
  local keeps = "CUTTLE_CAPTURE=%s CUTTLE_CAPTURE_SECONDS=1e-9 CUTTLE_THREADS=1 %s --device=cpu %s"
  run(keeps:format(folder, program, path))
  tap.is(found(path), expected(path), name .. " is named at its lines")
end

-- {====== CUTTLE_CAPTURE ======

local script = folder .. "/script.lua"
local outside = folder .. "/outside"
write(script, [[
local k = kernel("reach", function(n, x) x[threadIdx.x + n] = 1 end)
k{grid = 1, block = 32}(0, zeros(f32, 32))
k{grid = 1, block = 32}(1, zeros(f32, 32))
]])
run("mkdir " .. outside)
local with = "CUTTLE_CAPTURE=%s %s --device=cpu %s"
local out, code = run(with:format(outside, program, script))
local kept = out:match "; the launch is in ([%w/._-]+)"
tap.ok(code == 1 and kept, "a fault names the file", out)
tap.is(run("ls " .. outside .. " | wc -l"):match "%d+", "1", "a launch that ended well leaves none")
out, code = run(("%s --device=cpu replay %s"):format(program, kept or ""))
tap.ok(code == 1 and out:find("script.lua:1: ", 1, true), "its replay faults at that line", out)
out, code = run(("%s replay --info %s"):format(program, kept or ""))
tap.ok(code == 0 and out:find("captured on cpu, with data", 1, true), "what it holds", out)
out, code = run(("%s replay /nowhere.ctk"):format(program))
tap.ok(code == 1 and out:find("replay: cannot read /nowhere.ctk: No such file", 1, true),
  "a file that is missing", out)
out, code = run(("%s replay --nonsense x"):format(program))
tap.ok(code ~= 0 and out:find("unknown option --nonsense", 1, true), "an unknown option", out)
out, code = run(with:format("/nowhere/at/all", program, script))
tap.ok(code == 1 and out:find("capture: /nowhere/at/all", 1, true), "a folder that is missing", out)
run("rm -r " .. folder)
tap.plan()
