-- The option min_blocks: in the launch bounds of the CUDA C, and nothing for what is computed.
local function add_one(x) x[threadIdx.x] = x[threadIdx.x] + 1 end
local x = zeros(f32, 128)
local bounded = kernel("bounded", add_one, { min_blocks = 4 }) { grid = 1, block = 128 }
local plain = kernel("plain", add_one) { grid = 1, block = 128 }
print(bounded:source(x):match("__launch_bounds__%b()"))  -- expect: __launch_bounds__(128, 4)
print(plain:source(x):match("__launch_bounds__%b()"))  -- expect: __launch_bounds__(128)
bounded(x)
print(allclose(x, ones(f32, 128)))  -- expect: true
