-- Some programs of the fuzzer, always the same ones: each gives for each thread what plain Lua gives.
device "cpu"
arg = { arg[1] or "330", "1" }
dofile "scripts/fuzz_kernels.lua"
