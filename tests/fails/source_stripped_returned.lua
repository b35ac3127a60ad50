-- A kernel whose own function has no text, only bytecode.
local stripped = load(string.dump(function(x) x[threadIdx.x] = 1.0 end, true))
kernel("ones", stripped){grid = 1, block = 32}(zeros(f32, 32)) -- expect error: cannot find the source of the function at ?:2; load it from a file or with load(text)
