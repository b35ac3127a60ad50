-- print_order = "run": in a block, texts come as its threads printed them. So a barrier shows.
local function demo(wait)
  return kernel("demo", function()
    local x = threadIdx.x
    if x % 32 == 0 then printf("%d;", x + blockIdx.x) end
    if wait then sync_threads() end
    if x % 32 == 0 then printf("%d;", -x) end
    if wait then sync_threads() end
    if x % 32 == 0 then printf("%d;", 10 * x) end
  end)
end
for _, wait in ipairs { false, true } do
  for _, order in ipairs { "thread", "run" } do
    demo(wait){grid = 1, block = 96, print_order = order}()
    print()
  end
end
-- expect: 0;0;0;32;-32;320;64;-64;640;
-- expect: 0;0;0;32;-32;320;64;-64;640;
-- expect: 0;0;0;32;-32;320;64;-64;640;
-- expect: 0;32;64;0;-32;-64;0;320;640;

-- Lanes of a warp print one statement before the next one, and blocks come one after the other.
kernel("lanes", function() printf("%d ", threadIdx.x) printf("%d;", blockIdx.x) end){
  grid = 2, block = 3, print_order = "run"}()
print()
-- expect: 0 1 2 0;0;0;0 1 2 1;1;1;

-- Blocks on many threads of the host.
kernel("many", function()
  local prints = threadIdx.x % 32 == 0 and blockIdx.x % 2000 == 0
  if prints then printf("%d;", threadIdx.x) end
  sync_threads()
  if prints then printf("%d:%d;", blockIdx.x, threadIdx.x) end
end){grid = 5000, block = 64, print_order = "run"}()
print()
-- expect: 0;32;0:0;0:32;0;32;2000:0;2000:32;0;32;4000:0;4000:32;

-- Launches of ranks.
device "cpu:2"
local m = mesh{data = 2}
m:run(function(r)
  if r.rank == 1 then demo(true){grid = 1, block = 64, print_order = "run"}() end
end)
print()
-- expect: 0;32;0;-32;0;320;
