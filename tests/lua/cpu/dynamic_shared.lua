-- The memory that the launch gives ends where the launch says: the CPU engine checks each access.
local function try(f, ...)
  local _, message = pcall(f, ...)
  print((tostring(message):gsub("^.-:(%d+): ", "%1: ")))
end

local both = kernel("both", function(out, n)
  local t = view(shared(i32), layout({ n, n, 2 }, { n, 1, n * n }))
  t[{ threadIdx.x, threadIdx.y, 1 }] = 100
  out[0] = t[{ 0, 0, 1 }]
end)
local out = zeros(i32, 1)
try(both { grid = 1, block = { 2, 2 }, smem = 16 }, out, 2)
-- expect: 9: out of bounds: write of t at 4, extent 4, by thread (0,0,0) of block (0,0,0)
try(both { grid = 1, block = { 2, 2 }, smem = 1 << 20 }, out, 2)
-- expect: 3: both: smem = 1048576 plus 0 bytes of shared tensors, but a block on the CPU engine has 232448; ask for less
