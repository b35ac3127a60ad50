-- scripts/bench/few_rows.lua on the CPU engine: one product, without cuBLAS.
local shell = dofile "tests/support/shell.lua"
local text = (shell.cuttle "scripts/bench/few_rows.lua 3x20x24")
print((text:gsub("%d+%.%d+", "N")))
-- expect: 3x20x24  cpu 32x32x8: N us, N TB/s; of the default inf, of Lt's best inf
-- expect:
