-- Triton's load is Lua's here.
kernel("k", function(x)
  x[0] = load(x, threadIdx.x) -- expect error: load of a tensor; this compiles a text; write t[i]
end){grid = 1, block = 32}(zeros(f32, 32))
