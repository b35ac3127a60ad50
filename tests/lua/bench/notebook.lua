-- `scripts/bench/main.lua notebook` measures the kernels of the example, which it runs silently until that
-- takes times; the current device stays as it was.
device("cpu")
package.path = "scripts/bench/?.lua;" .. package.path
local page = require "notebook".page()
print(device().name)                                 -- expect: CPU engine
local names = {}
for i, v in ipairs(page.variants) do names[i] = v.name end
print(table.concat(names, "; "))
-- expect: naive; dynamic, tw = 16; template, tw = 16; static, tw = 8; static, tw = 16; static, tw = 32
local p = page.make_problem(20, 30, 40)
for _, v in ipairs(page.variants) do io.write(tostring((page.is_right(v, p))), " ") end
print()                                              -- expect: true true true true true true
local command = ("CUTTLE_DEVICE=cpu '%s' scripts/bench/main.lua notebook"):format(arg[-1])
local pipe = assert(io.popen(command))
io.write(pipe:read "a")                              -- expect: notebook: skipped, the current device is no GPU
pipe:close()
