-- covering.lua: which tests the sanitized run can leave out because its other tests take all edges
-- of our C that it takes. `make covered` runs it, in a build that notes edges
-- (tests/support/edges.c):
--   lua scripts/covering.lua list asan      as suites.lua
--   lua scripts/covering.lua one asan NAME  runs it; notes its edges, its CPU time and its
--                                           exit code in a folder of its own below $EDGES
--   lua scripts/covering.lua choose FOLDER  the text of tests/golden/covered.txt, of these folders
-- An edge is one of the flow graph of a function of the library or the program, whichever program
-- the function is linked into. Tests that look for faults by random inputs or read damaged ones
-- stay, whatever they take: there the bytes matter as much as the path. So do tests that failed,
-- and those that are no file.
local shell = dofile(arg[0]:match "^.*/" .. "shell.lua")
local lua = os.getenv "LUA" or "lua5.4"
local what, run, name = ...

-- Parts of names of tests that are never left out: fuzzing, random cases, and readers of files,
-- texts and messages.
local always <const> = {
  "fuzz", "random", "law", "damaged", "killed", "nomem", "threads", "inflate", "npy", "json", "mcp",
  "ir_file", "capture", "replay", "cubin", "_read", "baseline", "_elf", "rewrite", "sandbox",
  "store", "text", "inputs", "tests/device/",
}

local function is_kept(test)
  for _, word in ipairs(always) do
    if test.name:find(word, 1, true) then return true end
  end
  return test.code ~= "0" or not shell.exists(test.name)
end

-- {====== Running ======

local function folder_of(folder, test) return folder .. "/" .. test:gsub("/", "%%") end

-- The test as suites.lua runs it; bash has the CPU time of what it has waited for.
local function one()
  local folder = folder_of(os.getenv "EDGES", name)
  assert(os.execute("mkdir -p " .. shell.quote(folder)))
  local _, _, code = os.execute((
    "CUTTLE_EDGES=%s bash -c '\"$@\"; code=$?; { times; echo $code; } >%s; exit $code' - "
    .. "%s scripts/suites.lua one %s %s"):format(shell.quote(folder),
    shell.quote(folder .. "/times"), lua, run, shell.quote(name)))
  os.exit(code)
end

-- The CPU time of a test in seconds, and its exit code.
local function times_of(folder)
  local lines, sum = shell.lines_of(shell.read_file(folder .. "/times")), 0
  for minutes, seconds in lines[2]:gmatch "(%d+)m([%d.]+)s" do
    sum = sum + minutes * 60 + seconds
  end
  return sum, lines[3]
end

-- {====== Edges ======

-- The functions of a program by address: "FILE/FUNCTION" where only one file knows it, with a
-- number, as there are several of those that are compiled once for each instruction set.
local function functions_of(program)
  local names, counts, file = {}, {}, ""
  for line in shell.capture("readelf -sW " .. shell.quote(program)):gmatch "[^\n]+" do
    local value, kind, bind, symbol =
      line:match "^%s*%d+: (%x+)%s+%S+ (%S+)%s+(%S+)%s+%S+%s+%S+ (%S+)"
    if kind == "FILE" then file = symbol end
    if kind == "FUNC" then
      local key = bind == "LOCAL" and file .. "/" .. symbol or symbol
      counts[key] = (counts[key] or 0) + 1
      names[tonumber(value, 16)] = key .. "#" .. counts[key]
    end
  end
  return names
end

-- Those that count are in the program `cuttle`: not what test programs have beside the library.
local library = {}
local n_numbers, number_of, numbers_of_file = 0, {}, {}

local function number(key)
  if not number_of[key] then n_numbers, number_of[key] = n_numbers + 1, n_numbers + 1 end
  return number_of[key]
end

-- The edges of a file of edges.c, by place: numbers that all programs share; false or nil: one that
-- does not count.
local function numbers(file_name, text)
  if numbers_of_file[file_name] then return numbers_of_file[file_name] end
  local list, n = {}, #text // 17
  local path = file_name:gsub("%%", "/")
  local names = shell.exists(path) and functions_of(path) or {}
  local key, k
  for i = 1, n do
    local pc, begins = string.unpack("<I8I8", text, n + (i - 1) * 16 + 1)
    if begins & 1 == 1 then key, k = names[pc], 0 end
    k = k + 1
    list[i] = key and library[key] and number(key .. "+" .. k)
  end
  numbers_of_file[file_name] = list
  return list
end

-- The set of edges that a test took.
local function edges_of(folder)
  local set = {}
  for file_name in shell.capture("ls " .. shell.quote(folder)):gmatch "[^\n]+" do
    if file_name ~= "times" then
      local text = shell.read_file(folder .. "/" .. file_name)
      local list, n = numbers(file_name, text), #text // 17
      local at = text:find("\1", 1, true)
      while at and at <= n do
        if list[at] then set[list[at]] = true end
        at = text:find("\1", at + 1, true)
      end
    end
  end
  return set
end

-- {====== Choosing ======

-- A list of {name, seconds, code, edges = list}.
local function tests_in(folder)
  local tests = {}
  for entry in shell.capture("ls " .. shell.quote(folder)):gmatch "[^\n]+" do
    local path = folder .. "/" .. entry
    local set, edges = edges_of(path), {}
    for edge in pairs(set) do edges[#edges + 1] = edge end
    local seconds, code = times_of(path)
    tests[#tests + 1] = { name = entry:gsub("%%", "/"), seconds = seconds, code = code,
      edges = edges, worth = math.huge }
  end
  return tests
end

local function n_new(test, taken)
  local n = 0
  for _, edge in ipairs(test.edges) do
    if not taken[edge] then n = n + 1 end
  end
  return n
end

local function take(test, taken)
  test.is_taken = true
  for _, edge in ipairs(test.edges) do taken[edge] = (taken[edge] or 0) + 1 end
end

-- The test with most new edges a second; nil where none has any. `worth` is what it had last, and
-- so a bound of what it has now.
local function best_of(tests, taken)
  local best, most
  table.sort(tests, function(a, b) return a.worth > b.worth end)
  for _, test in ipairs(tests) do
    if best and test.worth <= most then break end
    if not test.is_taken and test.worth > 0 then
      test.worth = n_new(test, taken) / (test.seconds + 0.02)
      if test.worth > (most or 0) then best, most = test, test.worth end
    end
  end
  return best
end

-- Of those that were taken early later ones may have all: they are given back, what costs most
-- first.
local function give_back(tests, taken)
  table.sort(tests, function(a, b) return a.seconds > b.seconds end)
  for _, test in ipairs(tests) do
    local is_needed = is_kept(test)
    for _, edge in ipairs(test.is_taken and not is_needed and test.edges or {}) do
      if taken[edge] == 1 then
        is_needed = true
        break
      end
    end
    if test.is_taken and not is_needed then
      test.is_taken = nil
      for _, edge in ipairs(test.edges) do taken[edge] = taken[edge] - 1 end
    end
  end
end

local function choose(tests)
  local taken = {}
  for _, test in ipairs(tests) do
    if is_kept(test) then take(test, taken) end
  end
  while true do
    local test = best_of(tests, taken)
    if not test then break end
    take(test, taken)
  end
  give_back(tests, taken)
end

-- Lines of `cksum`, so that suites.lua knows a test that has changed since.
local function report(tests, n_edges)
  table.sort(tests, function(a, b) return a.name < b.name end)
  local names, all, kept = {}, 0, 0
  for _, test in ipairs(tests) do
    all, kept = all + test.seconds, kept + (test.is_taken and test.seconds or 0)
    if not test.is_taken then names[#names + 1] = shell.quote(test.name) end
  end
  print(("# By `make covered`: what `make asan` leaves out, as the other %d of its %d tests take\n"
    .. "# all %d edges that all take, in %.0f of the %.0f s of CPU, without sanitizers."):format(
    #tests - #names, #tests, n_edges, kept, all))
  io.write((shell.capture("cksum " .. table.concat(names, " "))))
end

local function choose_in(folder)
  for _, key in pairs(functions_of(folder .. "/../cuttle")) do library[key] = true end
  local tests, n, is_counted = tests_in(folder), 0, {}
  for _, test in ipairs(tests) do
    for _, edge in ipairs(test.edges) do
      n, is_counted[edge] = n + (is_counted[edge] and 0 or 1), true
    end
  end
  choose(tests)
  report(tests, n)
end

if what == "choose" then
  choose_in(run)
elseif what == "one" then
  one()
else
  local _, _, code = os.execute(lua .. " scripts/suites.lua " .. table.concat(arg, " "))
  os.exit(code)
end
