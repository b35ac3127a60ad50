-- A tensor of the host that was divided into tiles which overhang: no access leaves its memory.
local t = arange(f32, { 5, 6 })
local z = zipped_divide(t, { 2, 4 })
local function fails(f, ...)
  local ok, message = pcall(f, ...)
  print(not ok and message:gsub("^[^:]*:%d+: ", ""):match "^[^;]*")
end

print(z(0), z({ 0, 0 }, { 2, 1 }))      -- expect: 0.0	24.0
fails(function() return z(47) end)      -- expect: z(47): the element is not in the tensor's memory: the division into tiles rounds up
fails(function() z[47] = 1 end)         -- expect: z[47]: the element is not in the tensor's memory: the division into tiles rounds up
fails(fill, z, 1)                       -- expect: fill: the tensor leads from element 0 to 40 of a memory of 30: its division into tiles rounds up
fails(copy, zeros(f32, { 8, 6 }), z)    -- expect: copy: the tensor leads from element 0 to 40 of a memory of 30: its division into tiles rounds up
fails(copy, z, zeros(f32, { 8, 6 }))    -- expect: copy: the tensor leads from element 0 to 40 of a memory of 30: its division into tiles rounds up
fails(z.totable, z)                     -- expect: totable: the tensor leads from element 0 to 40 of a memory of 30: its division into tiles rounds up
print(#z(_, 0):totable(), z(_, 0):totable()[8]) -- expect: 8	16.0
print(z)
-- expect: tensor f32 ((2,4),(3,2)):((1,5),(2,20)) on cpu
-- expect:     0    2    4   20   22   24
-- expect:     1    3    5   21   23   25
-- expect:     5    7    9   25   27   29
-- expect:     6    8   10   26   28    -
-- expect:    10   12   14    -    -    -
-- expect:    11   13   15    -    -    -
-- expect:    15   17   19    -    -    -
-- expect:    16   18   20    -    -    -
print((show(z, { text = true }):gsub("^.*\n(3[^\n]*)\n.*$", "%1"))) -- expect: 3 |  6   8  10 | 26  28 //-/|

-- Kernels get as much as there is.
local k = kernel("k", function(x) x[threadIdx.x] = x[threadIdx.x] + 1.0 end)
fails(function() k{ grid = 1, block = 48 }(z) end) -- expect: out of bounds: read of x at (4,3), extent (8,6), by thread (28,0,0) of block (0,0,0)
local l = kernel("l", function(xs) xs[1][47] = 1.0 end)
fails(function() l{ grid = 1, block = 1 }({ z }) end) -- expect: out of bounds: write of xs[1] at (0,6), extent (8,6), by thread (0,0,0) of block (0,0,0)
