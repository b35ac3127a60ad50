-- cubin_beside_nvdisasm.lua: what we read of machine code beside what nvdisasm shows: for each
-- kernel that scripts launch and each capability, every instruction that loads or stores, its
-- space, its width and the script line it is from. Needs NVRTC, and NVIDIA's nvdisasm on the PATH;
-- without them it skips.
--   cuttle scripts/cubin_beside_nvdisasm.lua [SM,SM...] [SCRIPT...]      TAP; default: all examples
package.path = "tests/support/?.lua;" .. package.path
local cubin = require "cuttle.cubin"
local internal = require "internal"
local replace_exit = os.exit

local DEFAULT_SMS <const> = "75,80,86,89,90,100,120"

local ops <const> = {
  LD = { "load", "generic" }, LDG = { "load", "global" }, LDS = { "load", "shared" },
  ST = { "store", "generic" }, STG = { "store", "global" }, STS = { "store", "shared" },
  LDGSTS = { "copy", "global" },
}
local widths <const> = { U8 = 8, S8 = 8, U16 = 16, S16 = 16, ["64"] = 64, ["128"] = 128 }

-- {====== What nvdisasm shows ======

local function width_of(suffixes)
  for word in suffixes:gmatch "[^.]+" do
    if widths[word] then return widths[word] end
  end
  return 32
end

-- The place of an instruction: the first that is of no text of ours, of those that it lists. It
-- lists none anew where the same line of a function was inlined at another place: then "?".
local function place_of(places, is_fresh)
  if not is_fresh and places[1] and places[1]:find "%.cu:%d+$" then return "?" end
  for _, place in ipairs(places) do
    if not place:find "%.cu:%d+$" then return place end
  end
  return ":0"
end

local function disassembled(image)
  local path, list = os.tmpname(), {}
  local places, is_open, is_fresh = {}, false, true
  local file <close> = assert(io.open(path, "wb"))
  file:write(image)
  file:close()
  local pipe = assert(io.popen(("nvdisasm -gi -c '%s' 2>/dev/null"):format(path)))
  for line in pipe:lines() do
    local name, number = line:match '//## File "([^"]*)", line (%d+)'
    if name then
      if not is_open then places, is_open = {}, true end
      places[#places + 1] = ("%s:%s"):format(name:match "[^/]*$", number)
    end
    local at, guard, op, rest = line:match "/%*(%x+)%*/%s+(@?!?%w*)%s*([A-Z]+)([%w._]*) "
    if guard and not guard:find "^@" then -- no predicate
      at, op, rest = line:match "/%*(%x+)%*/%s+([A-Z]+)([%w._]*) "
      guard = ""
    end
    if at then is_open, is_fresh = false, is_open end
    if at and ops[op] and guard ~= "@!PT" then
      list[#list + 1] = ("%s %s %s %d %s"):format(at, ops[op][1], ops[op][2], width_of(rest),
        place_of(places, is_fresh))
    end
  end
  pipe:close()
  os.remove(path)
  return list
end

-- {====== What we read ======

local function read(image)
  local list = {}
  for i, a in ipairs(cubin.accesses(image)) do
    list[i] = ("%04x %s %s %d %s:%d"):format(a.at, a.op, a.space, a.bits, a.file, a.line)
  end
  return list
end

local n_tests, n_failed = 0, 0

local function is_same(a, b)
  if not a or not b then return false end
  return a == b or b:find "%?$" and a:match "^(.*) " == b:match "^(.*) "
end

local function compare(name, image)
  local ours, theirs, first = read(image), disassembled(image), nil
  for i = 1, math.max(#ours, #theirs) do
    if not is_same(ours[i], theirs[i]) then
      first = first or ("# ours: %s\n# theirs: %s"):format(ours[i], theirs[i])
    end
  end
  n_tests = n_tests + 1
  if first then n_failed = n_failed + 1 end
  print(("%s - %s, %d accesses"):format(first and "not ok" or "ok", name, #theirs))
  if first then print(first) end
end

-- {====== Kernels ======

-- Runs a script on the CPU engine; its kernels with their CUDA C.
local function kernels_of(script, sm)
  local session <close> = internal.watch.profile_begin(sm)
  internal.launch.bench_by(internal.launch.bench_once)
  _G.arg = { [0] = script } -- luacheck: ignore 122
  local print_all = print
  print = function() end -- luacheck: ignore 121
  os.exit = function() error("it leaves", 0) end -- luacheck: ignore 122
  pcall(assert(loadfile(script)))
  print, os.exit = print_all, replace_exit -- luacheck: ignore 121 122
  return session:finish()
end

local function compare_script(script, sm)
  for i, program in ipairs(kernels_of(script, sm)) do
    local image = program.source
      and internal.watch.profile_cubin(program, sm)
    if image then
      compare(("%s %d %s, sm_%d"):format(script, i, program.symbol, sm), image)
    end
  end
end

local function has_tool()
  local pipe = assert(io.popen "nvdisasm --version 2>/dev/null")
  local text = pipe:read "a"
  pipe:close()
  return text:find "release" ~= nil
end

local function main()
  if not has_tool() then
    print "1..0 # skip no nvdisasm on the PATH"
    return
  end
  device("cpu")
  local sms = table.remove(arg, 1) or DEFAULT_SMS
  local scripts = table.move(arg, 1, #arg, 1, {})
  if #scripts == 0 then
    for path in assert(io.popen "ls examples/*.lua"):lines() do scripts[#scripts + 1] = path end
  end
  for _, script in ipairs(scripts) do
    for sm in sms:gmatch "%d+" do compare_script(script, math.tointeger(tonumber(sm))) end
  end
  print("1.." .. n_tests)
  replace_exit(n_failed == 0, true)
end

main()
