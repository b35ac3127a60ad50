-- SHA-256 of messages of one block, a thread each: words of a table that Lua's own functions move,
-- rotations, and a schedule that is unrolled.
local K, n = {}, 2 -- the first 32 bits of the fractional parts of cube roots of primes
while #K < 64 do
  local is_prime = true
  for d = 2, n // 2 do is_prime = is_prime and n % d ~= 0 end
  if is_prime then K[#K + 1] = math.floor(n ^ (1 / 3) % 1 * 2 ^ 32) end
  n = n + 1
end
local START <const> = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                        0x1f83d9ab, 0x5be0cd19 }

local sha256 = kernel("sha256", function(messages, digests)
  local i, w, s = threadIdx.x, {}, {}
  for t = 1, 16 do w[t] = messages[{t - 1, i}] end
  for t = 17, 64 do
    local a, b = w[t - 15], w[t - 2]
    w[t] = w[t - 16] + w[t - 7] + (rotr(a, 7) ~ rotr(a, 18) ~ a >> 3)
      + (rotr(b, 17) ~ rotr(b, 19) ~ b >> 10)
  end
  for j, word in ipairs(START) do s[j] = u32(word) end
  for t = 1, 64 do
    local a, e = s[1], s[5]
    local x = table.remove(s) + (rotr(e, 6) ~ rotr(e, 11) ~ rotr(e, 25)) + (e & s[6] ~ ~e & s[7])
      + u32(K[t]) + w[t]
    s[4] = s[4] + x
    table.insert(s, 1, x + (rotr(a, 2) ~ rotr(a, 13) ~ rotr(a, 22))
      + (a & s[2] ~ a & s[3] ~ s[2] & s[3]))
  end
  for j, word in ipairs(START) do digests[{j - 1, i}] = s[j] + u32(word) end
end)

local messages, digests = zeros(u32, {16, 2}), zeros(u32, {8, 2})
messages[{0, 0}], messages[{15, 0}] = 0x61626380, 24 -- "abc", a bit 1, and its 24 bits
messages[{0, 1}] = 0x80000000                        -- ""
sha256{grid = 1, block = 2}(messages, digests)
for i = 0, 1 do
  print((("%08x"):rep(8):format(table.unpack(select(digests(_, i), 0):totable()))))
end
-- expect: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
-- expect: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
