-- fast.exp2: within 2^-22 of exp2, subnormal numbers are 0, on a host number and an f64 exp2 itself.
local k = kernel("powers", function(x, y) y[threadIdx.x] = fast.exp2(x[threadIdx.x]) end)
local x, y = rand(f32, 64), zeros(f32, 64)
for i = 0, 63 do x[i] = 200 * x[i] - 100 end
k{grid = 1, block = 64}(x, y)
local worst = 0
for i = 0, 63 do worst = math.max(worst, math.abs(y[i] / 2.0 ^ x[i] - 1)) end
print(worst <= 2.0 ^ -22)                                                                -- expect: true
local edges = from_table(f32, {-140.0, 0.0, 1e-40, -math.huge, 128.0, 3.0})
k{grid = 1, block = 6}(edges, y)
print(y[0], y[1], y[2], y[3], y[4], y[5])                                                -- expect: 0.0	1.0	1.0	0.0	inf	8.0
local d = zeros(f64, 1)
kernel(function(d) d[0] = fast.exp2(cast(0.1, f64)) end){grid = 1, block = 1}(d)
print(d[0] == 2.0 ^ 0.1, fast.exp2(3))                                                 -- expect: true	8.0
