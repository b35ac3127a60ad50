-- check_beside_sentryward.lua: verdicts of `check` beside those of SentryWard, a verifier of PTX
-- (a Python package), on examples as they are and with each barrier, wait and fence of the script,
-- or of the library's block_reduce, removed in turn; and on the faults planted in a product by
-- tcgen05 (tests/check/blackwell_gemm.faults). SentryWard reads what `cuttle emit --ptx` writes for
-- sm_100a. Needs NVRTC and the program `sentryward`; without them it skips.
--   build/cuttle scripts/check_beside_sentryward.lua [SENTRYWARD [EXAMPLE|PROGRAM...]]
-- A row has the line that was removed, the findings of `check` with their lines, the result of
-- SentryWard with those of its first witness, and whether they agree: both clean or both not. A
-- kernel that SentryWard does not decide has "unsupported".
-- With --run FILE COLLECTIVE [ARGUMENTS] it is the script that both look at: it runs FILE, with
-- block_reduce out of COLLECTIVE, and with shapes as constants.
package.path = "tests/support/?.lua;" .. package.path
local cuttle = require "cuttle"
local program <const> = arg[-1]

-- {====== Running an example ======

-- Shapes and strides become constants, so that kernels have no parameters but pointers.
local function with_static_shapes(name, fn, options)
  if type(name) == "function" then name, fn, options = nil, name, fn end
  local own = { static_shapes = true }
  for key, value in pairs(options or {}) do own[key] = value end
  if name == nil then return cuttle.kernel(fn, own) end
  return cuttle.kernel(name, fn, own)
end

local function run_example(path, collective, ...)
  local env = setmetatable({}, { __index = _G })
  local reductions = assert(loadfile(collective))(require "internal")
  env.kernel, env.block_reduce = with_static_shapes, reductions.block_reduce
  env.arg = { [0] = path, ... }
  -- Examples compare their results, which a fault may change.
  env.os = setmetatable({ exit = function() end }, { __index = os })
  assert(loadfile(path, "t", env))(...)
end

-- "name gx gy gz bx by bz bytes" of each specialisation that it launches, in order.
local function print_launches(...)
  local arguments, print_all = table.pack(...), print
  print = function() end -- luacheck: ignore 121
  local profile = require "cuttle.profile".run(function()
    run_example(table.unpack(arguments, 1, arguments.n))
  end, {})
  print = print_all -- luacheck: ignore 121
  for _, k in ipairs(profile.kernels) do
    print(k.name, k.grid[1], k.grid[2], k.grid[3], k.block[1], k.block[2], k.block[3],
      k.shared_bytes)
  end
end

local modes <const> = { ["--run"] = run_example, ["--launches"] = print_launches }
if modes[arg[1]] then
  modes[arg[1]](table.unpack(arg, 2))
  return
end

-- {====== Files and programs ======

local COLLECTIVE <const> = "stdlib/language/collective.lua"
local sentryward = arg[1] or "sentryward"

local function output_of(command, ...)
  local pipe = assert(io.popen(command:format(...)))
  local text = pipe:read "a"
  local _, _, code = pipe:close()
  return text, code or 0
end

local shell = dofile "scripts/shell.lua"
local read <const>, write <const> = shell.read_file, shell.write_file

local folder = output_of("mktemp -d"):match "[^\n]+"

-- {====== Examples and what can be removed ======

-- Each has arguments and numbers that kernels branch on, by parameters of the PTX. `maps` are the
-- parameters that are tensor maps: {parameter, {columns, rows}, box {columns, rows}} of bf16 with a
-- swizzle of 128 bytes. `whole`: nothing is removed from it.
local examples <const> = {
  { "transpose", "64 64" },
  { "moye_matmul", "128 128 16" },
  { "moye_async", "128 128 16" },
  { "moye_pipeline", "128 128 16" },
  { "sgemm_1", "128 128 16 NT", '{"parameter":3,"type":"f32","value":0.0}' }, -- beta
  { "softmax", "2 256" },
  { "reduce", "1024" },
  { "blackwell_gemm", "512 512 256", whole = true,
    maps = { { 1, { 256, 512 }, { 64, 128 } }, { 2, { 256, 512 }, { 64, 256 } } } },
}
-- Programs that are one program with changes (see tests/check/hopper_gemm.faults).
local faults <const> = {
  { path = "tests/check/blackwell_gemm.faults",
    maps = { { 1, { 192, 256 }, { 64, 128 } }, { 2, { 192, 32 }, { 64, 16 } } } },
}
local calls <const> = { "sync_threads%b()", "cp_async_wait%b()", "cp_async_commit%b()",
  "sync_warp%b()" }

-- The calls of a text: {from, to, line}.
local function sites_of(text)
  local sites = {}
  for _, pattern in ipairs(calls) do
    local at = 1
    while true do
      local from, to = text:find("%f[%w_]" .. pattern, at)
      if not from then break end
      local before = text:sub(1, from)
      if not before:match "[^\n]*$":find("--", 1, true) then
        sites[#sites + 1] = { from = from, to = to,
                              line = select(2, before:gsub("\n", "")) + 1 }
      end
      at = to + 1
    end
  end
  table.sort(sites, function(a, b) return a.from < b.from end)
  return sites
end

-- Another statement of as many characters.
local function without(text, site)
  local n = site.to - site.from + 1
  return text:sub(1, site.from - 1) .. "do" .. (" "):rep(n - 5) .. "end" .. text:sub(site.to + 1)
end

-- The part of the collective's text that block_reduce uses.
local function part_of_reduce(text)
  return text:find("local function share", 1, true),
    text:find("local function scan_totals", 1, true)
end

-- {====== Verdicts ======

-- What kind of finding a message of `check` is: "race", "deadlock", "is never given back".
local function kind_of(message)
  return message:match "^(%l[%l. -]*): " or message:match "^deadlock"
    or message:match "^[%w_%[%]]+ (is [%l ]*%l)" or message
end

local function ours_of(path, collective, arguments)
  local text, code = output_of("'%s' check '%s' --run '%s' '%s' %s 2>&1", program, arg[0], path,
    collective, arguments)
  local kinds = {}
  for at, message in text:gmatch "%.lua:(%d+): ([^\n]*)" do
    kinds[kind_of(message) .. " " .. at] = true
  end
  local list = {}
  for kind in pairs(kinds) do list[#list + 1] = kind end
  table.sort(list)
  if #list > 0 then return table.concat(list, ", "), false end
  return code == 0 and "clean" or text:match "[^\n]+" or "failed", code == 0
end

-- The launches of a run, {name, grid, block, bytes}, in the order of `cuttle emit`.
local function launches_of(path, collective, arguments, numbers, maps)
  local text, launches = output_of("'%s' '%s' --launches '%s' '%s' %s 2>/dev/null", program, arg[0],
    path, collective, arguments), {}
  for line in text:gmatch "[^\n]+" do
    local f = {}
    for field in line:gmatch "[^\t]+" do f[#f + 1] = field end
    launches[#launches + 1] = { name = f[1], grid = table.concat(f, ",", 2, 4),
                                block = table.concat(f, ",", 5, 7), bytes = tonumber(f[8]),
                                numbers = numbers or "", maps = maps or {} }
  end
  return launches
end

local INPUT <const> = '{"schema":"spverify.kernel-input/v1","arguments":[%s],'
  .. '"tma_descriptors":[%s],"launch":{"grid_dim":[%s],"block_dim":[%s]%s}}'
local MAP <const> = '{"parameter":%d,"object":"map%d","element_type":"bf16","rank":2,'
  .. '"global_shape":[%d,%d],"global_strides_bytes":[%d],"box_shape":[%d,%d],'
  .. '"element_strides":[1,1],"swizzle":"128B","interleave":"none","oob_fill":"zero"}'

local function maps_text(maps)
  local list = {}
  for i, map in ipairs(maps) do
    local parameter, whole, box = table.unpack(map)
    list[i] = MAP:format(parameter, parameter, whole[1], whole[2], 2 * whole[1], box[1], box[2])
  end
  return table.concat(list, ",")
end

-- Codes of results "unsupported" that are findings.
local told <const> = { tmem_missing_dealloc = true, tmem_use_after_free = true }

local function verify(ptx, launch)
  local bytes = launch.bytes > 48 * 1024
    and (',"dynamic_shared_bytes":%d'):format(launch.bytes) or ""
  write(folder .. "/input.json", INPUT:format(launch.numbers, maps_text(launch.maps), launch.grid,
    launch.block, bytes))
  local text = output_of("'%s' '%s' --input '%s/input.json' --timeout 200 2>/dev/null", sentryward,
    ptx, folder)
  local result = text:match '\n  "result": "([^"]*)"' or "failed"
  local places, seen = {}, {}
  for line in text:gmatch '"file": "[^"]*%.lua",%s*"line": (%d+)' do
    if not seen[line] then places[#places + 1], seen[line] = line, true end
  end
  if result == "potential_race" then result = "race" end
  local code = text:match '"code": "([^"]*)"'
  if told[code] then result = code end
  if #places > 0 then result = result .. " " .. table.concat(places, " and ") end
  return result, code
end

-- Of all kernels of a run the first that is not free of races.
local function theirs_of(path, collective, arguments, launches)
  os.execute(("rm -f '%s'/*.ptx"):format(folder))
  output_of("'%s' emit --sm=100a --ptx='%s/*.ptx' '%s' --run '%s' '%s' %s 2>&1 >/dev/null", program,
    folder, arg[0], path, collective, arguments)
  local seen, worst, why = {}, "race_free", nil
  for _, launch in ipairs(launches) do
    seen[launch.name] = (seen[launch.name] or 0) + 1
    local name = launch.name .. (seen[launch.name] > 1 and "_" .. seen[launch.name] or "")
    local result, message = verify(("%s/%s.ptx"):format(folder, name), launch)
    if worst == "race_free" and result ~= "race_free" then
      worst, why = result, ("%s: %s"):format(name, message or "")
    end
  end
  return worst, why
end

-- {====== All ======

local counts = { agree = 0, differ = 0, unsupported = 0 }

local function compare(name, what, path, collective, arguments, launches)
  local ours, is_clean = ours_of(path, collective, arguments)
  local theirs, why = theirs_of(path, collective, arguments, launches)
  local verdict = theirs == "race_free" and is_clean and "agree"
    or theirs ~= "race_free" and not is_clean and "agree" or "differ"
  if theirs == "unsupported" or theirs == "timeout" then verdict = "unsupported" end
  counts[verdict] = counts[verdict] + 1
  print(("%-12s %-14s %-34s ours: %-28s theirs: %s"):format(verdict, name, what, ours, theirs))
  if why and verdict ~= "agree" then print("             " .. why) end
  io.stdout:flush()
end

local function compare_example(example)
  local name, arguments, numbers = table.unpack(example)
  local text, collective = read(("examples/%s.lua"):format(name)), read(COLLECTIVE)
  local path, own = ("%s/%s.lua"):format(folder, name), folder .. "/collective.lua"
  write(path, text)
  write(own, collective)
  local launches = launches_of(path, own, arguments, numbers, example.maps)
  compare(name, "as it is", path, own, arguments, launches)
  if example.whole then return end
  for _, site in ipairs(sites_of(text)) do
    write(path, without(text, site))
    compare(name, ("line %d without %s"):format(site.line, text:sub(site.from, site.to)), path,
      own, arguments, launches)
  end
  write(path, text)
  if not text:find("block_reduce", 1, true) then return end
  local first, last = part_of_reduce(collective)
  for _, site in ipairs(sites_of(collective)) do
    if site.from >= first and site.to <= last then
      write(own, without(collective, site))
      compare(name, ("block_reduce, line %d without it"):format(site.line), path, own, arguments,
        launches)
    end
  end
end

-- The launches of the first program, which is right, are those of the others, which may not end.
local function compare_faults(set, is_chosen)
  output_of("'%s' tests/lua/program/check_gallery.lua --write='%s' %s", program, folder, set.path)
  local launches
  for name in read(set.path):gmatch "%f[^\n]%-%-%- ([%w_]+)\n" do
    local path = ("%s/%s.lua"):format(folder, name)
    launches = launches or launches_of(path, COLLECTIVE, "", nil, set.maps)
    if is_chosen(name) then compare(name, "", path, COLLECTIVE, "", launches) end
  end
end

local function main()
  if not os.execute(("'%s' --help >/dev/null 2>&1"):format(sentryward)) then
    print "1..0 # skip no sentryward on the PATH"
    return
  end
  local chosen = {}
  for i = 2, #arg do chosen[arg[i]] = true end
  local function is_chosen(name) return #arg < 2 or chosen[name] end
  for _, example in ipairs(examples) do
    if is_chosen(example[1]) then compare_example(example) end
  end
  for _, set in ipairs(faults) do compare_faults(set, is_chosen) end
  os.execute(("rm -r '%s'"):format(folder))
  print(("%d agree, %d differ, %d that SentryWard does not decide"):format(counts.agree,
    counts.differ, counts.unsupported))
end

main()
