-- A run-time 'for' whose limit is the last number of its type runs as in Lua, upwards and downwards.
-- With an argument N only each N-th loop is tried.
local tap = dofile "tests/support/tap.lua"
local each <const> = tonumber(arg[1]) or 1
local n_loops = 0
local LAST <const>, FIRST <const> = math.maxinteger, math.mininteger
local out = zeros(i64, 16)

-- Turns (at most 6), and the sum of the indices, wrapped.
local function loops(o, at, a, b, s)
  local n, sum = i64(0), i64(0)
  for i = a, b, s do
    n = n + 1
    sum = sum + i
    if n > 5 then break end
  end
  o[at] = n
  o[at + 1] = sum
end

local function check(a, b, s)
  n_loops = n_loops + 1
  if n_loops % each ~= 0 then return end
  kernel("loops", function(o, first, last)
    loops(o, 0, first, last, s)           -- both bounds at run time
    loops(o, 2, a, last, s)               -- the start is known
    loops(o, 4, first, i64(b), s)         -- the limit is
  end){grid = 1, block = 1}(out, i64(a), i64(b))
  local n, sum = 0, 0
  for i = a, b, s do
    n, sum = n + 1, sum + i
    if n > 5 then break end
  end
  local want = table.concat({n, sum, n, sum, n, sum}, " ")
  local got = table.concat(out:totable(), " ", 1, 6)
  tap.is(got, want, ("%d, %d, %d"):format(a, b, s))
end

for _, s in ipairs {1, 2, 7, 1 << 61, 1 << 62, LAST} do
  for _, a in ipairs {FIRST, FIRST + 1, -1, 0, 1, LAST - 3, LAST - 2, LAST - 1, LAST} do
    for _, b in ipairs {FIRST, FIRST + 2, 0, LAST - 1, LAST} do
      check(a, b, s)
      check(b, a, -s)
    end
  end
  check(LAST, FIRST, -s)
end
check(FIRST, LAST, LAST)
check(LAST, FIRST, FIRST)
tap.done()
