-- shared(dtype) without a layout: the memory that the launch gives, whose views may have any run-time
-- shape.
local function try(f, ...)
  local ok, message = pcall(f, ...)
  print(ok, (tostring(message):gsub("^.-:(%d+): ", "%1: ")))
end

-- A transpose in tiles whose width is an argument, beside memory that the kernel declares.
local transpose = kernel("transpose", function(out, tw)
  local fixed = shared(i32, {8})
  local both = view(shared(i32), layout({tw, tw, 2}, {tw, 1, tw * tw}))
  local a, b = both(_, _, 0), both(_, _, 1)
  local i, j = threadIdx.x, threadIdx.y
  a[{i, j}] = 10 * i + j
  b[{i, j}] = 100
  if j == 0 then fixed[i] = 1000 end
  sync_threads()
  out[{i, j}] = a[{j, i}] + b[{j, i}] + fixed[j]
end)
for tw = 2, 3 do
  local out = zeros(i32, {tw, tw})
  transpose{grid = 2, block = {tw, tw}, smem = 2 * tw * tw * 4}(out, tw)
  local first, last = out(_, 0):totable(), out(_, tw - 1):totable()
  print(table.concat(first, " ") .. ", " .. table.concat(last, " "))
end
-- expect: 1100 1101, 1110 1111
-- expect: 1100 1101 1102, 1120 1121 1122

-- Its size is that of the launch; each call gives the same memory.
local sizes = kernel("sizes", function(out)
  local a, b = shared(f64), shared(f64)
  a[3] = 5.0
  out[0] = cast(size(a), f32)
  out[1] = cast(b[3], f32)
end)
for _, smem in ipairs{32, 47, 1024} do
  local out = zeros(f32, 2)
  sizes{grid = 1, block = 1, smem = smem}(out)
  print(table.concat(out:totable(), " "))
end
-- expect: 4.0 5.0
-- expect: 5.0 5.0
-- expect: 128.0 5.0

-- What the launch gives must be there. (tests/lua/cpu/dynamic_shared.lua: accesses beyond it.)
local out = zeros(i32, {2, 2})
try(transpose{grid = 1, block = {2, 2}}, out, 2) -- expect: false	11: shared: without a layout, it is the memory that the launch provides, which has 0 bytes; pass a layout, or launch with smem = bytes
try(transpose{grid = 1, block = {2, 2}, smem = 3}, out, 2) -- expect: false	11: shared: without a layout, it is the memory that the launch provides, which has 3 bytes; pass a layout, or launch with smem = bytes
local two = kernel("two", function(t)
  shared(f32)[0] = 1.0
  shared(i32)[0] = 1
  t[0] = 1
end)
try(two{grid = 1, block = 1, smem = 64}, out) -- expect: false	51: shared: the memory that the launch provides is already a tensor of f32; i32 was requested
