-- recast of a fragment: its bits as elements of another type, against the host's recast of the same memory.
local here = device().sm and "cuda" or "cpu"
local function host(t) return here == "cpu" and t or t:to("cpu") end

local state = 99
local function random_bits()
  state = state * 6364136223846793005 + 1442695040888963407
  return state >> 32 & 0xff
end

local N <const> = 32 * 16
local bytes = zeros(u8, N)
for i = 0, N - 1 do bytes[i] = random_bits() end
local n_same = 0
local types = {u8, f8e5m2, i16, f16, bf16, u32, f32, i32, f64, u64}
for _, from in ipairs{u8, i8, f8e4m3, u16, f16, bf16, u32, f32, i32, f64, i64, u64} do
  local x, ys = recast(bytes:to(here), from), {}
  for n, to in ipairs(types) do ys[n] = zeros(to, N // to.bytes) end
  kernel("bits", function(x, ...)
    for n, y in ipairs{...} do
      local r = fragment(from, 16 // from.bytes)
      copy(tile(x, {16 // from.bytes}, {threadIdx.x}), r)
      copy(recast(r, types[n]), tile(y, {16 // types[n].bytes}, {threadIdx.x}))
    end
  end){grid = 1, block = 32}(x, table.unpack(ys))
  for n, to in ipairs(types) do
    local at = reference.difference(bytes, recast(host(ys[n]), u8))
    if at then print(from, to, at) end
    n_same = n_same + 1
  end
end
print(n_same, "pairs")                   -- expect: 120	pairs

-- Parts and modes: two f16 of a column are one u32; a tile that a guard does not touch.
local y = zeros(u32, {2, 3})
local z = zeros(u32, 8)
kernel("modes", function(y, z, h)
  local r = fragment(f16, {4, 3})
  for i = 0, 11 do r[i] = cast(f32(i), f16) end
  local w = recast(r, u32)
  copy(w, tile(y, {2, 3}, {0, 0}))
  local column = recast(r(_, 2), u32)
  z[0], z[1] = column[0], column[1]
  local g = guard(h)
  local words = recast(g, u32)
  local part = tile(words, {4}, {1})     -- words 4 to 7 of 6
  local s = fragment_like(part)
  copy(part, s)
  for i = 0, 3 do z[i + 2] = s[i] end
end){grid = 1, block = 1}(y, z, recast(full(u16, 12, 3), f16))
y, z = host(y), host(z)
print(("%x %x %x"):format(y[{0, 0}], y[{1, 0}], y[{0, 2}]))  -- expect: 3c000000 42004000 48804800
print(z[0] == y[{0, 2}], z[1] == y[{1, 2}])                  -- expect: true	true
print(("%x %x %x"):format(z[2], z[3], z[4]))                 -- expect: 30003 30003 0
