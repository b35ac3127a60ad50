-- packed.lua: elements of 4 bits, two in a byte: tensors of the host, and kernels that read, write, copy, fill and
-- recast them, against plain Lua. Prints TAP; `CUTTLE_DEVICE=cuda cuttle tests/lua/dtype/packed.lua`.
-- luacheck: no max line length
local tap = dofile "tests/support/tap.lua"
local current = dofile "tests/support/current_device.lua"
local host, upload, on_host = current.host, current.upload, current.on_host
math.randomseed(4)
local random = math.random
local numbers <const> = { [0] = 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0 }

-- The bits of each element of n random ones, and a tensor of them.
local function any(layout)
  local bits, list = {}, {}
  for i = 1, size(layout) do
    bits[i] = random(0, 15)
    list[i] = numbers[bits[i]]
  end
  return on_host(from_table, f4e2m1, list, layout), bits
end
local function bits_of(v)
  for i = 0, 15 do if numbers[i] == v and 1 / numbers[i] == 1 / v then return i end end
end
-- All elements in linear order, as bits.
local function all(t)
  local list = {}
  t = host(t)
  for i = 1, size(t) do list[i] = bits_of(t[i - 1]) end
  return table.concat(list, " ")
end
local function text(bits) return table.concat(bits, " ") end

-- {====== The host ======

local ok = true
for trial = 1, 40 do -- luacheck: ignore trial
  local shape = { random(1, 5), random(1, 6), random(1, 4) }
  local order = random(2) == 1 and layout(shape) or row_major(shape)
  local padded = random(3) == 1 and layout(shape, { 1, shape[1] + random(0, 3), (shape[1] + 3) * shape[2] }) or order
  local x, bits = any(padded)
  local y = on_host(zeros, f4e2m1, padded)
  on_host(function() copy(x, y) end)
  ok = ok and all(x) == text(bits) and all(y) == text(bits)
  local part = x(_, shape[2] - 1, _) -- may begin within a byte
  local want = {}
  for k = 0, shape[3] - 1 do
    for i = 0, shape[1] - 1 do want[#want + 1] = bits[1 + i + shape[1] * (shape[2] - 1 + shape[2] * k)] end
  end
  ok = ok and all(part) == text(want)
  local at = random(0, size(x) - 1)
  bits[at + 1] = random(0, 15)
  x[at] = numbers[bits[at + 1]] -- the neighbour stays
  ok = ok and all(x) == text(bits) and allclose(x, x)
end
tap.ok(ok, "tables, copies, parts and single elements of the host")

do
  local x, bits = any(layout(6))
  local bytes = recast(x, u8)
  tap.is(("%d %d %d"):format(bytes[0], bytes[1], bytes[2]),
    ("%d %d %d"):format(bits[1] | bits[2] << 4, bits[3] | bits[4] << 4, bits[5] | bits[6] << 4),
    "the element with the even index has the low bits")
  tap.is(all(recast(bytes, f4e2m1)), text(bits), "and back")
  tap.is(tostring(recast(layout({ 8, 4 }, { 1, 8 }), f4e2m1, u32)), "(1,4):(1,1)", "layouts count bits")
  tap.is(f4e2m1.bytes, 0.5, "bytes of an element")
  tap.is(tostring(on_host(zeros, f4e2m1, row_major { 4, 8 }).layout), "(4,8):(8,1)", "strides are in elements")
  local odd = on_host(full, f4e2m1, 5, -6)
  tap.is(all(odd), "15 15 15 15 15", "an odd number of them")
  on_host(fill, odd, 0.5)
  tap.is(all(odd), "1 1 1 1 1", "fill")
end

-- {====== Elements ======

do
  local x, bits = any(layout(64))
  local y, z = zeros(f32, 64), upload(on_host(zeros, f4e2m1, 64))
  local elements = kernel("elements", function(x, y, z)
    local i = threadIdx.x
    y[i] = f32(x[63 - i])
    if i < 32 then -- a thread has both halves of its bytes
      z[2 * i] = x[2 * i + 1]
      z[2 * i + 1] = f4e2m1(f32(x[2 * i]) + 0.0)
    end
  end)
  elements { grid = 1, block = 64 } (upload(x), y, z)
  local values, swapped = {}, {}
  for i = 1, 64 do
    values[i] = bits_of(host(y)[64 - i])
    swapped[i] = bits[i % 2 == 1 and i + 1 or i - 1]
    if i % 2 == 0 and swapped[i] == 8 then swapped[i] = 0 end -- -0 + 0
  end
  tap.is(text(values), text(bits), "reads")
  tap.is(all(z), text(swapped), "writes of both elements of a byte")
end

-- {====== Tiles ======

-- Through registers and shared memory, forth and back, with run-time strides.
local through = kernel("through", function(x, y, z)
  local part = tile(x, { 16, 32 }, { blockIdx.x, blockIdx.y })
  local s = shared(f4e2m1, row_major { 16, 32 })
  local row = fragment(f4e2m1, 32)
  copy(part(threadIdx.x, _), row)
  copy(row, s(threadIdx.x, _))
  sync_threads()
  copy(s(15 - threadIdx.x, _), row)
  copy(row, tile(y, { 16, 32 }, { blockIdx.x, blockIdx.y })(15 - threadIdx.x, _))
  copy(part(threadIdx.x, _), tile(z, { 16, 32 }, { blockIdx.x, blockIdx.y })(threadIdx.x, _))
end)
do
  local x, bits = any(row_major { 48, 64 })
  local y, z = on_host(zeros, f4e2m1, row_major { 48, 64 }), on_host(zeros, f4e2m1, row_major { 48, 64 })
  y, z = upload(y), upload(z)
  through { grid = { 3, 2 }, block = 16 } (upload(x), y, z)
  tap.is(all(y), text(bits), "tiles through registers and shared memory")
  tap.is(all(z), text(bits), "tiles from global to global memory")
end

-- Both orders of a tile of several modes, its casts, and a fill.
do
  local casts = kernel("casts", function(x, y, z, w)
    local part = tile(x, { 8, 4 }, { 0, threadIdx.x })
    copy(cast(part, f32), tile(y, { 8, 4 }, { 0, threadIdx.x }))
    copy(part, tile(w, { 8, 4 }, { 0, threadIdx.x })) -- widened on the way
    copy(cast(tile(y, { 8, 4 }, { 0, threadIdx.x }), f4e2m1), tile(z, { 8, 4 }, { 0, threadIdx.x }))
  end)
  local x, bits = any(layout { 8, 64 })
  local y, w, z = zeros(f32, { 8, 64 }), zeros(f32, { 8, 64 }), upload(on_host(zeros, f4e2m1, { 8, 64 }))
  casts { grid = 1, block = 16 } (upload(x), y, z, w)
  tap.is(all(z), text(bits), "cast to f32 and back")
  tap.is(all(y), text(bits), "as f32")
  tap.is(all(w), text(bits), "widened by a copy")
  local fills = kernel("fills", function(z, v)
    fill(tile(z, { 8, 4 }, { 0, threadIdx.x }), f4e2m1(v + threadIdx.x % 3))
  end)
  fills { grid = 1, block = 16 } (z, f32(1.0))
  local want = {}
  for i = 0, 511 do want[i + 1] = bits_of(1.0 + i // 32 % 3) end
  tap.is(all(z), text(want), "fill")
end

-- {====== Other views of the memory ======

do
  local words = kernel("words", function(x, y, bytes, z)
    local i = threadIdx.x
    y[i] = recast(x, u32)[i]
    local four = fragment(u8, 4)
    copy(tile(bytes, { 4 }, { i }), four)
    local eight = recast(four, f4e2m1)
    for j = 0, 7 do z[8 * i + j] = f32(eight[j]) end
    local own = fragment(f4e2m1, 8)
    copy(eight, own)
    y[i + 16] = recast(own, u32)[0]
  end)
  local x, bits = any(layout(128))
  local y, z = zeros(u32, 32), zeros(f32, 128)
  words { grid = 1, block = 16 } (upload(x), y, upload(on_host(recast, x, u8)), z)
  local want = on_host(recast, x, u32)
  local same = true
  for i = 0, 15 do same = same and host(y)[i] == want[i] and host(y)[i + 16] == want[i] end
  tap.ok(same, "as words, in memory and in registers")
  tap.is(all(z), text(bits), "bytes of a fragment as elements")
end

do -- swizzled shared memory, a list, and an address
  local swizzled = kernel("swizzled", function(list, y, at)
    local s = shared(f4e2m1, composition(swizzle(2, 5, 3), layout { 32, 16 }))
    local r = fragment(f4e2m1, 32)
    copy(tile(list[2], { 32 }, { threadIdx.x }), r)
    copy(r, s(_, threadIdx.x))
    sync_threads()
    copy(s(_, 15 - threadIdx.x), r)
    copy(r, tile(y, { 32 }, { 15 - threadIdx.x }))
    local mine = tensor_at(at, f4e2m1, layout(512))
    for j = 0, 31 do mine[32 * threadIdx.x + j] = s[{ j, threadIdx.x }] end
  end)
  local x, bits = any(layout(512))
  local y, z = upload(on_host(zeros, f4e2m1, 512)), upload(on_host(zeros, f4e2m1, 512))
  swizzled { grid = 1, block = 16 } ({ y, upload(x) }, y, u64(z.address))
  tap.is(all(y), text(bits), "swizzled shared memory, and a member of a list")
  tap.is(all(z), text(bits), "at an address")
end

do -- a guard in another mode than the one along which elements share bytes
  local guarded = kernel("guarded", function(x, y)
    local part = tile(guard(x), { 4, 16 }, { blockIdx.x, 0 })
    local row = fragment(f4e2m1, 16)
    copy(part(threadIdx.x, _), row)
    copy(row, tile(guard(y), { 4, 16 }, { blockIdx.x, 0 })(threadIdx.x, _))
  end)
  local x, bits = any(row_major { 10, 16 })
  local y = upload(on_host(zeros, f4e2m1, row_major { 10, 16 }))
  guarded { grid = 3, block = 4 } (upload(x), y)
  tap.is(all(y), text(bits), "rows that a guard leaves out")
end
tap.done()
