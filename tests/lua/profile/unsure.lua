-- Where the machine code has another number of accesses than the lines of the script need, the
-- requests are marked: how often each is made is not known. Needs NVRTC; without it nothing is.
device("cpu")
local x, y = rand(f32, 4096), zeros(f32, 4096)
local has_nvrtc = profile(kernel("k", function(a) a[threadIdx.x] = 1.0 end)
  :prepare{grid = 1, block = 32}(y)).kernels[1].registers ~= nil

-- Of the loads of a tensor: lines, ~ before those that are not sure, and requests.
local function loads(name, body, ...)
  local result = profile(kernel(name, body):prepare{grid = 1, block = 64}(...))
  local out = {}
  for _, line in ipairs(result.kernels[1].lines) do
    for _, a in ipairs(line.accesses) do
      if a.op == "load" then
        out[#out + 1] = ("%s%d"):format(a.is_unsure and "~" or "", a.requests)
      end
    end
  end
  return table.concat(out, " "), tostring(result):find("~:", 1, true) ~= nil
end

local function check(name, want, plain, ...)
  local got, is_told = loads(name, ...)
  local expected = has_nvrtc and want or plain
  print(name, got == expected or got, is_told == (expected:find "~" ~= nil))
end

-- A recurrence writes its state before the step: what the last turn loads, nobody needs. The
-- compiler has left three of the four turns.
check("last_turn", "~6", "8", function(a, b)
  local state = 1.0
  for i in range(4) do
    b[threadIdx.x + 64 * i] = state
    state = state * 0.5 + a[threadIdx.x + 64 * i]
  end
end, x, y)
-- expect: last_turn	true	true

-- The same with a use of the last one is what it says.
check("all_turns", "8", "8", function(a, b)
  local state = 1.0
  for i in range(4) do
    b[threadIdx.x + 64 * i] = state
    state = state * 0.5 + a[threadIdx.x + 64 * i]
  end
  b[threadIdx.x + 256] = state
end, x, y)
-- expect: all_turns	true	true

-- Lanes leave the loop at different turns, and its body is there several times.
check("copies", "~52", "52", function(a, b, n)
  local sum = 0.0
  for i in range(threadIdx.x, n, 64) do sum = sum + a[i] end
  b[threadIdx.x] = sum
end, x, y, 1650)
-- expect: copies	true	true

-- One value for all lanes, of neighbours in turn: the compiler knows no alignment, and merges none.
check("in_turn", "64", "64", function(a, b, n)
  local sum = 0.0
  for i in range(n) do sum = sum + a[i] end
  b[threadIdx.x] = sum
end, x, y, 32)
-- expect: in_turn	true	true

-- Neighbours that are aligned in every second turn: no instruction is wider than one of them.
check("odd_places", "64 64", "64 64", function(a, b, n)
  local sum = 0.0
  for i in range(n) do
    sum = sum + a[3 * i]
    sum = sum + a[3 * i + 1]
  end
  b[threadIdx.x] = sum
end, x, y, 32)
-- expect: odd_places	true	true

-- Two lines that are alike but for the tensor: the compiler may say that all accesses are of one.
check("alike", "2 2", "2 2", function(a, b)
  local i = threadIdx.x
  local p = a[i]
  local q = a[i + 64]
  b[i] = p + q
end, x, y)
-- expect: alike	true	true
