-- tools.lua: the C part of these measurements (bench_tools.c), which `make bench-tools` puts beside
-- the program that runs this.
local first = 0
while arg and arg[first - 1] do first = first - 1 end
local program = arg and first < 0 and arg[first] or "build/cuttle"
local path = (program:match "^(.*/)" or "build/") .. "bench_tools.so"
local open, why = package.loadlib(path, "luaopen_bench_tools")
if not open then error(("%s; `make bench-tools` builds it"):format(why), 0) end
return open()
