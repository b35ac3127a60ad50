-- The cast of a tile gives the bits of the cast of each element, for all pairs of types and bit
-- patterns at the edges; also of a tf32 whose low bits are set.
local types <const> = {
  f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8,
  f8ue8m0, f8ue4m3, f6e2m3, f6e3m2, -- f4e2m1: packed.lua
}
local words <const> = { [64] = u64, [32] = u32, [16] = u16, [8] = u8, [6] = u8 }
local N <const> = 64

-- Bits of the type: 0, ends, patterns of each power of 2, and any.
local function patterns(bits)
  local list, mask = {}, bits == 64 and -1 or (1 << bits) - 1
  local function add(v) if #list < N then list[#list + 1] = v & mask end end
  for _, v in ipairs { 0, -1, 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 0x41f3b000, 0x7f800001,
    0xbd5ff800, 0x3cc80800, 0x7f800000, 0x7c00, 0x7c01, 0x7f80, 0x7f, 0x7e, 0x4effffff, 0x3f80,
    0x477fefff, 0x38800fff, 0x33000001 } do add(v) end
  local seed = 12345
  while #list < N do
    seed = seed * 6364136223846793005 + 1442695040888963407
    add(seed >> (64 - bits))
  end
  return list
end

local n_pairs, n_wrong = 0, 0
for _, T in ipairs(types) do
  local x = from_table(words[T.bits], patterns(T.bits))
  x = recast(x, T)
  for _, U in ipairs(types) do
    local one, all, moved = zeros(U, N), zeros(U, N), zeros(U, N)
    local k = kernel("casts", function(x, one, all, moved)
      for i = 0, N - 1 do one[i] = cast(x[i], U) end
      copy(cast(x, U), all)
      local r = fragment(T, N)
      copy(x, r)
      copy(cast(r, U), moved)
    end, { static_shapes = true })
    k{ grid = 1, block = 1 }(x, one, all, moved)
    n_pairs = n_pairs + 1
    local want = recast(one, words[U.bits])
    for _, got in ipairs { recast(all, words[U.bits]), recast(moved, words[U.bits]) } do
      for i = 0, N - 1 do
        if got[i] ~= want[i] then
          n_wrong = n_wrong + 1
          if n_wrong < 20 then
            print(("%s to %s: %x is %x, of a tile %x"):format(T, U, recast(x, words[T.bits])[i],
              want[i], got[i]))
          end
        end
      end
    end
  end
end
print(n_pairs, n_wrong)  -- expect: 361	0
