-- scripts/suites.lua: what a run leaves out is there, and a file in a folder of tests is run.
local tap = dofile "tests/support/tap.lua"

local function lines(command)
  local pipe <close> = assert(io.popen(command))
  local all = {}
  for line in pipe:lines() do all[#all + 1] = line end
  return all
end

local lua = (os.getenv "LUA" or "lua5.4") .. " scripts/suites.lua "
local n_left_out = 0
for _, run in ipairs { "test", "asan", "part" } do
  for _, line in ipairs(lines(lua .. "left_out " .. run)) do
    local name = line:match "^(.-): "
    local file <close> = io.open(name)
    if not file then tap.ok(false, run .. " leaves out what is there", line) end
    n_left_out = n_left_out + (file and 1 or 0)
  end
end

tap.ok(n_left_out > 40, "what is left out is there", n_left_out)

-- What `make test` and .ci/run run together, of each folder.
local is_run = {}
for _, name in ipairs(lines("ONCE= WHOLE=1 " .. lua .. "list test")) do is_run[name] = true end
local missing = {}
for _, path in ipairs(lines("ls examples/*.lua tests/lua/*/*.lua tests/fails/*.cases "
  .. "tests/c/test_*.c tests/golden/*.lua tests/device/*.lua tests/device/*.c "
  .. "hosts/web/tests/test_*.js tests/fuzz/fuzz_*.c")) do
  if not is_run[path] then missing[#missing + 1] = path end
end
tap.ok(#missing == 0, "the whole run has every test", table.concat(missing, " "))
local function n_tests(setting) return #lines("ONCE= " .. setting .. lua .. "list test") end
tap.ok(n_tests "WHOLE= " < n_tests "WHOLE=1 ", "an empty WHOLE is none")
local is_sanitized = {}
for _, name in ipairs(lines(lua .. "list asan")) do is_sanitized[name] = true end
tap.ok(is_sanitized["tests/c/test_nomem.c"] and not is_sanitized["tests/lua/program/rooms.lua"],
  "the sanitized run leaves out what it says")

-- What .ci/run does not run twice is what the sanitized run has, and does not do less there.
local is_again, lost, n_once = {}, {}, 0
for _, name in ipairs(lines("ONCE=1 WHOLE=1 " .. lua .. "list test")) do is_again[name] = true end
for name in pairs(is_run) do
  n_once = n_once + (is_again[name] and 0 or 1)
  if not (is_again[name] or is_sanitized[name]) then lost[#lost + 1] = name end
end
tap.ok(n_once > 100 and #lost == 0, "what runs once is sanitized", n_once, table.concat(lost, " "))
for _, name in ipairs { "tests/c/test_nomem.c", "tests/c/test_simt.c", "tests/lua/front/random.lua",
  "tests/lua/program/packed_export.lua", "conformance" } do
  tap.ok(is_again[name], "the sanitized run is not enough of " .. name)
end

-- What others cover: only as long as the test is what it was.
local n_all, n_with = #lines("COVERED= " .. lua .. "list asan"), #lines(lua .. "list asan")
local covered <close> = assert(io.open "tests/golden/covered.txt")
local n_covered, fuzzing = 0, {}
for line in covered:lines() do
  local name = line:match "^%d+ %d+ (.*)$"
  n_covered = n_covered + (name and 1 or 0)
  if name and name:find "fuzz" then fuzzing[#fuzzing + 1] = name end
end
tap.ok(n_all - n_with > 100 and n_all - n_with <= n_covered,
  "the sanitized run leaves out what others cover", ("%d %d %d"):format(n_all, n_with, n_covered))
tap.ok(#fuzzing == 0, "but no fuzzing", table.concat(fuzzing, " "))
for name in pairs(dofile "tests/support/small.lua") do
  tap.ok(is_run[name], "what is shorter in some runs is there: " .. name)
end
tap.ok(not os.execute(lua .. "one test tests/lua/kernel/none_such.txt 2>/dev/null"),
  "a test that no row knows is an error")
tap.done()
