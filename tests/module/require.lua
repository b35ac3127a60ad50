-- A stock Lua gets the language in a table, and nothing else changes.
local ct = require "cuttle"
print(ct.layout{ 4, 8 }, ct.size"(4,8)")      -- expect: (4,8):(1,4)	32
print(_G.layout, _G._, _G.threadIdx)          -- expect: nil	nil	nil
print(ct == require "cuttle", ct._VERSION)    -- expect: true	0.1.0
print(ct.L"(4,8):(8,1)"(1, 2))                -- expect: 10
