-- dynamic(n): a number that is known while tracing as a value of the run.

-- Bitonic sort in shared memory whose size the launch says: one network for all sizes.
local bitonic = kernel("bitonic", function(x)
  local s = shared(f32)
  local n, i = dynamic(size(s)), threadIdx.x
  s[i] = x[i]
  local k = 2
  while k <= n do
    local j = k // 2
    while j > 0 do
      sync_threads()
      local other = i ~ j
      if other > i then
        local a, b = s[i], s[other]
        if (a > b) == (i & k == 0) then s[i], s[other] = b, a end
      end
      j = j // 2
    end
    k = k * 2
  end
  sync_threads()
  x[i] = s[i]
end)
for _, n in ipairs{2, 32, 256} do
  local x, sorted = rand(f32, n), true
  bitonic{grid = 1, block = n, smem = 4 * n}(x)
  for i = 1, n - 1 do sorted = sorted and x[i - 1] <= x[i] end
  print(n, sorted)
end
-- expect: 2	true
-- expect: 32	true
-- expect: 256	true
local function lines(n)
  local text = bitonic{grid = 1, block = n, smem = 4 * n}:source(rand(f32, n))
  return select(2, text:gsub("\n", ""))
end
print(lines(32) == lines(256)) -- expect: true

-- Its types are those of a Lua number at run time; arithmetic is the kernel's.
local kinds = kernel("kinds", function(y)
  if dynamic(true) then y[0] = dynamic(2.5) end
  for i = 1, dynamic(3) do y[i] = i end
  for i in range(0, 10, max(dynamic(4), 1)) do y[4 + i // 4] = 7 end
  y[8] = dynamic(-7) // 2
  y[9] = dynamic(-7) % 4
  y[10] = dynamic(1 << 40) // (1 << 38)
  y[11] = dynamic(dynamic(5)) % dynamic(3)
  y[12] = dynamic(i64(9)) / dynamic(f64(2.0))
  y[13] = dynamic(0) + 1
  for _ in range(dynamic(0)) do y[13] = 9 end
  y[14] = dynamic(7) > 6 and 1 or 0
end)
local y = zeros(f64, 15)
kinds{grid = 1, block = 1}(y)
print(table.concat(y:totable(), " "))
-- expect: 2.5 1.0 2.0 3.0 7.0 7.0 7.0 0.0 -4.0 1.0 4.0 2.0 4.5 1.0 1.0

-- On the host it is the number itself.
print(dynamic(5), dynamic(0.5), dynamic(true)) -- expect: 5	0.5	true
