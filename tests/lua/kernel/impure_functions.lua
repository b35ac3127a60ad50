-- Functions whose result would be one constant of the trace are refused in kernels, and not in static_fn.
local function try(f)
  local ok, why = pcall(kernel("k", function(x) x[0] = f() end){grid = 1, block = 1}, zeros(f32, 1))
  return ok or why:gsub("^[^:]*:%d+: ", ""):gsub(" runs once.*; ", ": ")
end
-- expect: math.random: draw numbers with rand_u32x4, rand_f32x4 or randn_f32x4(seed, offset), or pass a tensor made by rand(dtype, shape)
print((try(function() return math.random() end)))
-- expect: math.random: draw numbers with rand_u32x4, rand_f32x4 or randn_f32x4(seed, offset), or pass a tensor made by rand(dtype, shape)
print((try(function() return math.random(6) end)))
-- expect: os.time: take the time before the launch and pass it as an argument
print((try(function() return os.time() end)))
-- expect: os.clock: take the time before the launch and pass it as an argument
print((try(function() return os.clock() end)))
-- expect: os.date: take the time before the launch and pass it as an argument
print((try(function() return tonumber(os.date("%Y")) end)))
-- expect: io.read: read before the launch and pass what was read as an argument
print((try(function() return io.read("n") end)))
local draw = static_fn(function() return math.random() * 0 end)
print((try(function() return draw() end))) -- expect: true
print(math.random() < 1)                   -- expect: true
