-- Some programs of the other fuzzer, always the same ones: each gives what its C gives.
device "cpu"
arg = { arg[1] or "200", "1" }
dofile "scripts/fuzz_c.lua"
