-- cast_fragments.lua: cast(t, dtype) of fragments and of tiles in memory, between all pairs of types, on the
-- current device, against reference.cast. Prints TAP; `CUTTLE_DEVICE=cuda cuttle` runs it there.
local tap = dofile "tests/support/tap.lua"
local check = tap.ok

local all = { f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8,
  bool, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2 } -- f4e2m1: packed.lua
local uints = { [8] = u8, [16] = u16, [32] = u32, [64] = u64, [6] = u8 }
local current = dofile "tests/support/current_device.lua"
local host, upload, on_host = current.host, current.upload, current.on_host

local state = 4321
local function random_bits()
  state = state * 6364136223846793005 + 1442695040888963407
  return state ~ (state >> 29)
end

-- All patterns of 8 bits, others at random: of f32 and f64 many whose narrow neighbours are near.
local N <const> = 1 << 13
local function inputs(T)
  return on_host(function()
    local U = uints[T.bits]
    local t = zeros(T == bool and bool or U, N)
    local mask = T == tf32 and 0xFFFFE000 or T.bits == 64 and -1 or (1 << T.bits) - 1
    for i = 0, N - 1 do
      local bits = T.bits == 8 and i or i % 3 == 0 and -(i >> 2) or random_bits()
      if i % 3 == 1 and (T == f32 or T == f64) then
        local v = (i - 4000) * 2.0 ^ (i % 48 - 34)
        bits = string.unpack(T == f32 and "<I4" or "<i8", string.pack(T == f32 and "<f" or "<d", v))
      elseif i % 3 == 1 and T.bits >= 32 then
        bits = random_bits() >> (random_bits() & 63)
      end
      t[i] = T == bool and i % 3 == 0 or T ~= bool and bits & mask
    end
    return T == bool and t or recast(t, T)
  end)
end

local function is_nan(t, i) return t[i] ~= t[i] end
local function first_difference(T, want, got)
  local U = uints[T.bits]
  local at = reference.difference(T == bool and want or recast(want, U),
    T == bool and got or recast(got, U))
  for i = at or N, N - 1 do -- f64 and f32 pass a NaN on as the device likes
    if want[i] ~= got[i] and not (is_nan(want, i) and is_nan(got, i)) then return i end
    if not (T == f64 or T == f32) then return i end
  end
end

-- Of tiles in global memory, eight elements a thread; and of a part of a fragment with an odd mode, and of
-- shared memory. One kernel casts to all types: a kernel for each pair would take a compiler long.
local in_memory = kernel("cast_tiles", function(x, ...)
  local at = { blockIdx.x * 32 + threadIdx.x }
  for n, y in ipairs { ... } do copy(cast(tile(x, { 8 }, at), all[n]), tile(y, { 8 }, at)) end
end)
local in_registers = kernel("cast_registers", function(x, ...)
  local at = { blockIdx.x * 32 + threadIdx.x }
  local s, r = shared(x.dtype, { 8, 32 }), fragment(x.dtype, layout({ 4, 3 }, { 3, 1 }))
  local mine = s(_, threadIdx.x)
  copy(tile(x, { 8 }, at), mine)
  sync_threads() -- a copy is complete there
  clear(r)
  for i = 0, 3 do r[{ i, 2 }] = mine[i] end
  for n, y in ipairs { ... } do
    local T, out = all[n], tile(y, { 8 }, at)
    local all_of_r, column, tail = cast(r, T), cast(r(_, 2), T), cast(mine, T)
    for i = 0, 3 do
      out[i] = where(i % 2 == 0, all_of_r[{ i, 2 }], column[i])
      out[i + 4] = tail[i + 4]
    end
  end
end)

for _, from in ipairs(all) do
  local x = inputs(from)
  local there, want = upload(x), {}
  for n, to in ipairs(all) do want[n] = on_host(reference.cast, x, to) end
  for i, k in ipairs { in_memory, in_registers } do
    local got = {}
    for n, to in ipairs(all) do got[n] = zeros(to, N) end
    local ok, message = pcall(k { grid = N // 256, block = 32 }, there, table.unpack(got))
    for n, to in ipairs(all) do
      local y = host(got[n])
      local at = ok and first_difference(to, want[n], y)
      check(ok and not at, ("%s to %s, %s"):format(from.name, to.name,
        i == 1 and "in memory" or "in registers"), not ok and message or at and
        ("element %d: %s gave %s, expected %s"):format(at, x[at], y[at], want[n][at]))
    end
  end
end

-- A guarded tile: zeros where it overhangs.
do
  local k = kernel("guarded", function(x, y)
    copy(cast(tile(guard(x), { 8 }, { threadIdx.x }), f16), tile(y, { 8 }, { threadIdx.x }))
  end)
  local x, y = ones(f32, 13), full(f16, 16, 7)
  k { grid = 1, block = 2 }(x, y)
  y = host(y)
  check(y[12] == 1 and y[13] == 0 and y[15] == 0, "outside of a guarded tile is 0", y)
end

tap.done()
