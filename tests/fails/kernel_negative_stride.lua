-- A tensor whose indices go below that of its first element.
local k = kernel("reverse", function(x) x[threadIdx.x] = 1.0 end)
local y = zeros(f32, 8)
local z = tile(y, {4}, {1})
local ok, r = pcall(view, z, layout(4, -1))
if not ok then error(r, 0) end
k{grid = 1, block = 4}(r) -- expect error: reverse: argument 1, r 4:-1 reaches before its first element; a kernel's tensor needs strides >= 0
