-- What `cuttle bench` does to each launch.
package.path = "tests/support/?.lua;" .. package.path
local session <close> = require "internal".launch.time_launches()
local k = kernel("k", function(x) x[threadIdx.x] = x[threadIdx.x] + 1.0 end)
local x = zeros(f32, 32)
for _ = 1, 20 do k{grid = 1, block = 32}(x) end
k{grid = 1, block = 32}:enqueue(5, x)
local rows = session:finish()
assert(#rows == 1 and rows[1].launches == 25 and #rows[1].samples == 21 and x[7] == 25.0)
