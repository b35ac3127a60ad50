-- A script has its path in arg[0], its arguments in arg and `...`.
print(select("#", ...), #arg, arg[0]:match("[^/]+$"))  -- expect: 0	0	arguments.lua
