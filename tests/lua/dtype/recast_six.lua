-- recast_six.lua: registers seen as elements of 6 bits, which are the low bits of a byte, and back:
-- as bytes and as words. The bits above them are dropped.
local function value(bits, exponent, fraction)
  local e, f = bits >> fraction & (1 << exponent) - 1, bits & (1 << fraction) - 1
  local bias = (1 << exponent - 1) - 1
  local v = e == 0 and f * 2.0 ^ (1 - bias - fraction)
    or (1 + f / (1 << fraction)) * 2.0 ^ (e - bias)
  return bits >> 5 & 1 == 1 and -v or v
end

local n_all, n_wrong_of_all = 0, 0
for _, row in ipairs { { f6e2m3, 2, 3 }, { f6e3m2, 3, 2 } } do
  for _, word in ipairs { u8, u16, u32 } do
    local bytes = zeros(u8, 256)
    for i = 0, 255 do bytes[i] = (i * 37) % 256 end
    local x, y, z = recast(bytes, word), zeros(f32, 256), zeros(word, 256 * 8 // word.bits)
    local k = kernel("recast", function(from, to, back)
      local mine = fragment(word, 64 // word.bits)
      copy(tile(from, {size(mine)}, {threadIdx.x}), mine)
      local six = recast(mine, row[1])
      for i in unroll(0, 8) do to[8 * threadIdx.x + i] = cast(six[i], f32) end
      copy(recast(six, word), tile(back, {size(mine)}, {threadIdx.x}))
    end, {static_shapes = true})
    k{grid = 1, block = 32}(x, y, z)
    local n_wrong, low = 0, recast(z, u8)
    for i = 0, 255 do
      local bits = bytes[i] & 63
      n_wrong = n_wrong + (y[i] == value(bits, row[2], row[3]) and low[i] == bits and 0 or 1)
    end
    n_all, n_wrong_of_all = n_all + 1, n_wrong_of_all + n_wrong
  end
end
print(n_all .. " kernels, " .. n_wrong_of_all .. " wrong elements") -- expect: 6 kernels, 0 wrong elements
