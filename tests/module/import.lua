-- import(_ENV) puts the names in reach; Lua's own keep their meaning.
require "cuttle".import(_ENV)
print(row_major{ 4, 8 }, select("#", 1, 2), _VERSION)   -- expect: (4,8):(8,1)	2	Lua 5.4
print(slice({ _, 2 }, "(4,8):(1,4)"))                   -- expect: (4):(1)
