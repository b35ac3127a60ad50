-- Bytecode without its text cannot be rewritten.
local stripped = load(string.dump(function(v) return v > 0.0 and v or 0.0 end, true))
local k = kernel("relu", function(x)
  x[threadIdx.x] = stripped(x[threadIdx.x]) -- expect error: cannot find the source of the function at ?:2; load it from a file or with load(text)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
