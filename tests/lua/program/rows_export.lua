-- A kernel of rows as plain C: `export` of rms_norm compiles without a warning, and its twin for the
-- CPU gives the bits that the process gave. Skipped without a compiler or libcuttle_core.a.
local tap = dofile "tests/support/tap.lua"
local f = dofile "tests/support/folder.lua"
local cuttle = f.absolute(arg[-1])
local build = cuttle:match "^(.*)/[^/]*$"
local root = f.absolute((arg[0]:match "^(.*)tests/lua/" or "./") .. "runtime"):match "^(.*)/"

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

local core = build .. "/libcuttle_core.a"
if not exists(core) or os.execute(("nm '%s' 2>/dev/null | grep -q __asan_init"):format(core)) then
  tap.skip_all "there is no libcuttle_core.a, or a sanitized one"
end

f.run "mkdir -p include/cuttle"
f.write("include/cuttle/ct.h", '#include "runtime/ct.h"\n')
f.write("norm.lua", [[
local rows = require "cuttle.rows"
local x, w = randn(bf16, row_major{4, 256}), randn(bf16, 256)
local y, scale = zeros(bf16, row_major{4, 256}), zeros(f32, row_major{4, 1})
export(function(x, w, y, scale) rows.rms_norm(x, w, 1e-6, {out = {y, scale}}) end,
  {{x, w, y, scale}}, {name = "norm", sm = "90a", cpu = true})
]])
local out, code = f.run(("CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere '%s' norm.lua"):format(cuttle))
tap.ok(code == 0, "rms_norm is exported", out)
out, code = f.run(("cc -std=c11 -Wall -Wextra -Werror -DNORM_CPU -Iinclude -I'%s' norm.c "
  .. "norm_test.c -o norm '%s' -ldl -lpthread -lm"):format(root, core))
tap.ok(code == 0 and out == "", "it builds without a warning", out)
out, code = f.run "./norm"
tap.ok(code == 0 and out:find ": the same bits" and not out:find "not ok",
  "its twin gives the bits of the process", out)
f.remove()
tap.done()
