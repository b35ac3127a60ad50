-- once.lua: from here on `bench` calls its function once, as under `cuttle check`: for runs whose
-- question is what an example computes, and not how long it takes.
--   cuttle -e 'dofile "tests/support/once.lua"' examples/NAME.lua
local launch = dofile "tests/support/internal.lua".launch
launch.bench_by(launch.bench_once)
