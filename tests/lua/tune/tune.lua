-- tune on the device in use: what a call runs, which key it has, what it finds in the file, and what
-- is the same whatever was chosen.
local path = os.tmpname()
os.remove(path)
io.stderr = io.open("/dev/null", "w") -- luacheck: ignore 122 -- what tune says is for people

local n = { made = 0, run = 0 }
local function scale(config)
  n.made = n.made + 1
  local k = kernel("scale", function(x, y, c)
    local i = blockIdx.x * config.per_block + threadIdx.x
    for j = 0, config.per_block - 1, config.threads do
      if i + j < size(x) then y[i + j] = x[i + j] * c end
    end
  end)
  return function(x, y, c)
    n.run = n.run + 1
    k{grid = cdiv(size(x), config.per_block), block = config.threads}(x, y, c)
  end
end

local space = { threads = {32, 64, 128}, per_block = {128, 256} }
local tuned = tune(scale, space, { file = path, name = "scale" })
print(tostring(tuned))                     -- expect: scale: 6 configurations, no results

-- The arguments are those of a plain call: the result is the untuned one, tensors are written once.
local x, y, want = rand(f32, 1000), zeros(f32, 1000), zeros(f32, 1000)
tuned(x, y, 3.0)
scale{threads = 32, per_block = 128}(x, want, 3.0)
print(allclose(y, want, {rtol = 0, atol = 0})) -- expect: true
local z = ones(f32, 100)
tuned(z, z, 2.0)
print(z[0], z[99])                         -- expect: 2.0	2.0

-- A known key is not tuned again, here nor in the next program; f makes each configuration once.
local made = n.made
n.run = 0
tuned(x, y, 4.0)
tuned(x, y, 5.0)
print(n.made == made, n.run, y[7] == x[7] * 5) -- expect: true	2	true
local again = tune(scale, space, { file = path, name = "scale" })
n.run = 0
again(x, y, 1.0)
local config, row = tuned:config(x, y)
local config_again, row_again = again:config(x, y)
print(n.run, config.threads == config_again.threads, row.key, row_again.key == row.key) -- expect: 1	true	f32(1000) f32(1000)	true
print(row.how == (device().sm and "measured" or "predicted"), row.name, row.ms > 0) -- expect: true	scale	true

-- Another key is nearest to the one that is near in its numbers.
local function nearest_of(options, ...)
  options.file, options.name, options.unknown = path, "scale", "nearest"
  local t = tune(scale, space, options)
  local c, r = t:config(...)
  return c, r and r.key
end
print(select(2, nearest_of({}, zeros(f32, 900), zeros(f32, 900)))) -- expect: f32(1000) f32(1000)
print(select(2, nearest_of({}, zeros(f32, 64), zeros(f32, 64))))   -- expect: f32(100) f32(100)
-- Of another type nothing is known: the first configuration of the space.
local first, none = nearest_of({}, zeros(f16, 900), zeros(f16, 900))
print(first.threads, first.per_block, none) -- expect: 32	128	nil

-- Changed text, or a changed number that it captured, is another source.
local factor = 1
local function of_factor(_)
  local k = kernel("f", function(b) b[threadIdx.x] = factor end)
  return k{grid = 1, block = 32}
end
local one = zeros(f32, 32)
local sources = {}
for i = 1, 3 do
  factor = (i + 1) // 2
  sources[i] = select(2, tune(of_factor, { a = {1} }, { file = path }):config(one)).source
end
print(sources[1] == sources[2], sources[2] ~= sources[3]) -- expect: true	true

-- Keys by numbers of arguments and by a function.
local function key_of(key, ...)
  local t = tune(function() return function() one[0] = 1 end end, { a = {1} },
    { key = key, file = path, unknown = "nearest" })
  return t.key(...)
end
print(key_of({ 1, 3 }, x, y, 7))           -- expect: f32(1000) 7
print(key_of(function(a, _, c) return size(a) // 100, c end, x, y, 7)) -- expect: 10 7
print(key_of(nil, {x, y}, zeros(f16, {3, 4}), 5)) -- expect: {f32(1000) f32(1000)} f16(3,4)

-- Constraints see the arguments. What does not run, or gives something else, is refused.
local refused = tune(function(c)
  if c.kind == "no" then error "not this one" end
  local k = kernel("k", function(a) a[threadIdx.x] = c.kind == "wrong" and 2.0 or 1.0 end)
  return k{grid = 1, block = 32}
end, { kind = {"no", "right", "wrong", "never"} }, { file = path, name = "refused",
  where = function(c, a) return c.kind ~= "never" and size(a) == 32 end })
local a = zeros(f32, 32)
print(refused:tune(a).kind, a[0])          -- expect: right	0.0
print(refused.tried[1].why, refused.tried[2].why, #refused.tried) -- expect: not this one	nil	3
refused(a)
print(a[0])                                -- expect: 1.0

-- With a reference that is what must come out.
local strict = tune(function(c)
  return kernel("k", function(b) b[threadIdx.x] = c.v end){grid = 1, block = 32}
end, { v = {1.0, 1.001, 1.5} }, { file = path, name = "strict",
  tolerance = { rtol = 0.01, atol = 0 },
  reference = function(b) copy(full(f32, 32, 1.5), b) end })
local right = strict:tune(a)
print(right.v, strict.tried[1].why:match "[^;]*") -- expect: 1.5	other results: 32 of 32 elements differ by more than 0 + 0.01 * |b|
local nothing = tune(strict.f, { v = {7.0, 8.0} }, { file = path, name = "nothing",
  reference = strict.options.reference })
print((select(2, pcall(nothing, a)):match "tune: .*"))
-- expect: tune: nothing: none of the 2 configurations runs for f32(32)
-- expect: v=7: other results: 32 of 32 elements differ by more than 1e-05 + 0.0001 * |b|; the worst is 0: 7 and 1.5

-- What calls itself is refused at the first call, not when the stack is full.
local depth, inner = 0, nil
inner = tune(function() return function(x) depth = depth + 1 inner(x) end end, { n = {1} },
  { file = path, name = "inner" })
print((select(2, pcall(inner, a)):match "n=1: .*"), depth < 5)
-- expect: n=1: tune: inner: the function that is tuned calls its own tuned function	true

-- With bits = true results may not differ in a bit.
local function of_bits(bits)
  local t = tune(function(c)
    return kernel("k", function(b) b[threadIdx.x] = 1.0 + c.v end){grid = 1, block = 32}
  end, { v = {0.0, 2.0 ^ -23} }, { file = path, bits = bits,
    reference = function(b) copy(full(f32, 32, 1.0 + 2.0 ^ -23), b) end })
  t:tune(a)
  return t.tried[1].why ~= nil
end
print(of_bits(true), of_bits(false))       -- expect: true	false
os.remove(path)
