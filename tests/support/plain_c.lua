-- plain_c.lua: exported functions as plain C, with their twins for the CPU, in a test's folder.
-- Skips the test without libcuttle_core.a.
local tap = dofile "tests/support/tap.lua"
local f = dofile "tests/support/folder.lua"
local M = {}

local cuttle = f.absolute(arg[-1])
local root = f.absolute((arg[0]:match "^(.*)tests/lua/" or "./") .. "runtime"):match "^(.*)/"
local core = cuttle:match "^(.*)/[^/]*$" .. "/libcuttle_core.a"

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

if not exists(core) or os.execute(("nm '%s' 2>/dev/null | grep -q __asan_init"):format(core)) then
  tap.skip_all "there is no libcuttle_core.a, or a sanitized one"
end
f.run "mkdir -p include/cuttle"
f.write("include/cuttle/ct.h", '#include "runtime/ct.h"\n')

--- Runs a script, which exports.
function M.export(script)
  local out, code = f.run(("CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere '%s' %s"):format(cuttle,
    script))
  tap.ok(code == 0, script .. " exports", out)
end

--- Builds the program `to` of C files, whose functions `names` have twins: without a warning.
function M.build(to, files, names)
  local defines = {}
  for i, name in ipairs(names) do defines[i] = ("-D%s_CPU"):format(name:upper()) end
  local out, code = f.run(("cc -std=c11 -Wall -Wextra -Werror %s -Iinclude -I'%s' %s -o %s '%s' "
    .. "-ldl -lpthread -lm"):format(table.concat(defines, " "), root, files, to, core))
  tap.ok(code == 0 and out == "", to .. " builds without a warning", out)
end

--- Builds the program that `export` wrote for function `name`, which compares bits, and runs it.
function M.compare(name)
  M.build(name .. "_test", ("%s.c %s_test.c"):format(name, name), { name })
  local out, code = f.run(("./%s_test"):format(name))
  tap.ok(code == 0 and out:find ": the same bits" and not out:find "not ok",
    "the twin of " .. name .. " gives the bits of the process", out)
end

M.run, M.write, M.ok = f.run, f.write, tap.ok

--- Ends the test.
function M.done()
  f.remove()
  tap.done()
end

return M
