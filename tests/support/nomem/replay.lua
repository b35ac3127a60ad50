local k = kernel("k", function(n, list, x)
  local s = shared(f32, 64)
  s[threadIdx.x] = list[1][threadIdx.x] * n
  sync_threads()
  x[threadIdx.x] = s[63 - threadIdx.x]
end)
local file = os.tmpname()
local x = ones(f32, 64)
capture(k:prepare{grid = 1, block = 64}(2.0, {ones(f32, 64), x}, x), file, {data = true})
local launch, args = replay(file)
launch()
assert(args[3][5] == 2.0 and args.n == 3)
os.remove(file)
