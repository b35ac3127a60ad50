-- scripts/bench/scaled.lua on the CPU engine: products with scales of each kind, without PyTorch.
local shell = dofile "tests/support/shell.lua"
local function lines(arguments) return (shell.cuttle("scripts/bench/scaled.lua " .. arguments)) end
local text = lines "--quick 8x12x136"
for kind in text:gmatch "f8e4m3 8x12x136, ([^\n]+)" do print(kind) end
-- expect: all
-- expect: rows
-- expect: 1x128 by 128x128
-- expect: 1x128 by 1x128
local n = select(2, text:gsub("%* cpu %d+x%d+x%d+[^\n]+ %S+ to plain\n", ""))
print(n, text:find "WRONG")                 -- expect: 4	nil
print((lines "--warm":gsub("^[^\n]-scaled: ", "")))
-- expect: '--warm' is no option and no size like 4096x4096x4096
-- expect:
