-- profile_beside_sass.lua: what `profile` says of each line beside what the machine code asks for.
-- Each example runs twice, with the same arguments and random numbers: on the CPU engine under
-- `profile`, and on a driver that runs the kernels' SASS on the host (scripts/sass_run), where
-- every memory instruction is counted with its addresses. Needs NVRTC, NVIDIA's nvdisasm on the
-- PATH and a C compiler, and no GPU.
--   build/cuttle scripts/profile_beside_sass.lua [example ...]     default: all
-- A group is a line's loads, stores or copies (cp.async) of one space. It is
--   equal     requests, and sectors or wavefronts, are equal
--   shared    not by line, but in the sum over such lines: the line table mixes them
--   unsure    others, and `profile` says that it is not sure
--   wrong     others, and it does not say so
-- Left out are atomics, ldmatrix, kernels that did not run here and examples that ended early
-- (TMA, wgmma, ranks).
-- Products have the same tiles in both runs. bfs works on its vertices in the order in which atomic
-- operations gave them places: it differs from run to run.
local shell = dofile "scripts/shell.lua"
local program <const>, other <const> = arg[-1], "scripts/profile_beside_ncu.lua"
local SM <const> = 90
local SOURCES <const> = "scripts/sass_run/run.c scripts/sass_run/lanes.c runtime/watch/banks.c"
local CAN <const> = "nvdisasm --version >/dev/null 2>&1 && cc --version >/dev/null 2>&1"

local function fields_of(line)
  local fields = {}
  for text in (line .. "\t"):gmatch "([^\t]*)\t" do fields[#fields + 1] = text end
  return fields
end

local function number(text) return math.tointeger(tonumber(text)) end

-- {====== Counts ======

-- {[group] = {requests =, others =, is_unsure =}}; `group` is "kernel op space line".
local function add(counts, kernel, op, space, place, requests, others)
  local file, line = place:match "([^/]*):(%d+)$"
  local key = ("%s\t%s %s\t%s:%s"):format(kernel, op, space, file, line)
  counts[key] = counts[key] or { requests = 0, others = 0, is_unsure = false }
  counts[key].requests = counts[key].requests + requests
  counts[key].others = counts[key].others + others
  return counts[key]
end

local function quoted(path, args) return ("'%s' %s"):format(path, table.concat(args, " ")) end

local function ours_of(path, args)
  local counts = {}
  local text = shell.capture(("CUTTLE_DEVICE=cpu '%s' %s --lines %d %s"):format(program, other, SM,
    quoted(path, args)))
  for line in text:gmatch "[^\n]+" do
    local f = fields_of(line)
    if #f == 8 and f[3] ~= "atomic" and f[3] ~= "matrix" then
      local others = f[4] == "global" and f[6] or f[7]
      local group = add(counts, f[1], f[3], f[4], f[2], number(f[5]), number(others))
      group.is_unsure = group.is_unsure or f[8] == "1"
    end
  end
  return counts
end

-- Also the kernels that ran.
local function theirs_of(path, args, folder)
  os.execute(("rm -f '%s'/*.* '%s/counts'"):format(folder, folder))
  local ends = os.execute(("SASS_FOLDER='%s' SASS_CUTTLE='%s' CUTTLE_LIBCUDA='%s/driver' "
    .. "CUTTLE_DEVICE=cuda "
    .. "'%s' %s --run %s"):format(folder, program, folder, program, other, quoted(path, args)))
  local counts, ran, file = {}, {}, ends and io.open(folder .. "/counts")
  for line in file and file:lines() or function() end do
    local f = fields_of(line)
    if f[1] == "kernel" then
      ran[f[2]] = (ran[f[2]] == nil or ran[f[2]]) and f[5] == "1"
    else
      local space = f[4] == "generic" and "global" or f[4]
      add(counts, f[2], f[3], space, f[6], number(f[7]), number(space == "global" and f[8] or f[9]))
    end
  end
  if file then file:close() end
  return counts, ran
end

-- {====== Both ======

local function is_same(a, b) return a.requests == b.requests and a.others == b.others end

local none <const> = { requests = 0, others = 0 }

-- Groups that are not equal, by kernel, operation and space; how many are.
local function compare(ours, theirs, ran)
  local unequal, n_equal, keys = {}, 0, {}
  for key in pairs(ours) do keys[key] = true end
  for key, group in pairs(theirs) do keys[key] = keys[key] or group.requests > 0 or nil end
  for key in pairs(keys) do
    local kernel, access, line = key:match "^(.-)\t(.-)\t(.*)$"
    local a, b = ours[key] or none, theirs[key] or none
    if ran[kernel] and is_same(a, b) then
      n_equal = n_equal + 1
    elseif ran[kernel] then
      local name = kernel .. " " .. access
      unequal[name] = unequal[name] or {}
      table.insert(unequal[name], { line = line, ours = a, theirs = b })
    end
  end
  return unequal, n_equal
end

local function sum_of(groups, name)
  local sum = { requests = 0, others = 0 }
  for _, group in ipairs(groups) do
    sum.requests = sum.requests + group[name].requests
    sum.others = sum.others + group[name].others
  end
  return sum
end

local function report(example, name, groups, counts)
  local is_shared = is_same(sum_of(groups, "ours"), sum_of(groups, "theirs"))
  for _, group in ipairs(groups) do
    local is_unsure = group.ours.is_unsure or group.ours == none
    local class = is_shared and "shared" or is_unsure and "unsure" or "wrong"
    counts[class] = counts[class] + 1
    print(("%-7s %s %s %s: %d requests, %d; machine code %d, %d"):format(class, example, name,
      group.line, group.ours.requests, group.ours.others, group.theirs.requests,
      group.theirs.others))
  end
end

-- {====== Examples ======

local function sizes()
  local args = {}
  for line in shell.capture(("'%s' %s --sizes"):format(program, other)):gmatch "[^\n]+" do
    local name, rest = line:match "^(%S+)%s*(.*)$"
    args[name] = { rest }
  end
  return args
end

local function names_of()
  if #arg > 0 then return arg end
  local names = {}
  for path in shell.capture "ls examples/*.lua":gmatch "[^\n]+" do
    names[#names + 1] = path:match "([^/]*)%.lua$"
  end
  return names
end

local function main()
  if not os.execute(CAN) then
    print "1..0 # skip no nvdisasm on the PATH, or no C compiler"
    return
  end
  local folder = shell.capture("mktemp -d"):match "[^\n]+"
  assert(os.execute(("cc -w -O2 -std=gnu11 -shared -fPIC -I. -o '%s/driver' %s -lm -ldl"):format(
    folder, SOURCES)))
  local counts, args = { equal = 0, shared = 0, unsure = 0, wrong = 0 }, sizes()
  for _, name in ipairs(names_of()) do
    local path, own = ("examples/%s.lua"):format(name), args[name] or {}
    local theirs, ran = theirs_of(path, own, folder)
    local unequal, n_equal = compare(ours_of(path, own), theirs, ran)
    counts.equal = counts.equal + n_equal
    for access, groups in pairs(unequal) do report(name, access, groups, counts) end
    io.stdout:flush()
  end
  os.execute(("rm -r '%s'"):format(folder))
  print(("%d groups equal, %d in sums of lines, %d unsure, %d wrong"):format(counts.equal,
    counts.shared, counts.unsure, counts.wrong))
end

main()
