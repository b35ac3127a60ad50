-- export_saxpy.lua: y = a * x + y, to be exported: cuttle export --sm=80,90a --name=saxpy -o DIR
-- examples/export_saxpy.lua. Each launch is an example of what the exported kernel accepts, with
-- the fast case first; examples/export/saxpy_main.c calls it from C.
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = a * x[i] + y[i] end
end)

local ok = true
for _, n in ipairs{4096, 1001} do
  local x, y = rand(f32, n), rand(f32, n)
  local before = y:to("cpu"):totable()
  saxpy{grid = cdiv(n, 256), block = 256}(2.0, x, y)
  local xs, ys = x:totable(), y:totable()
  for i = 1, n do ok = ok and math.abs(ys[i] - (2.0 * xs[i] + before[i])) < 2 ^ -22 end
end
print("saxpy on " .. device().name .. ": " .. (ok and "correct" or "wrong"))
os.exit(ok, true)
