-- Conditions whose bodies do nothing leave no code, whatever is nested in them, and neither do jumps to where
-- control goes anyway.
-- luacheck: ignore 311 (values that nothing reads are what this is about)
local function shape(body)
  local k, x, plain = kernel("k", body), zeros(i32, 4), { [0] = 1, 2, 3, 4 }
  for n = -1, 9 do
    for i = 0, 3 do
      x[i], plain[i] = i + 1, i + 1
    end
    k{grid = 1, block = 1}(x, n)
    body(plain, n)
    for i = 0, 3 do assert(x[i] == plain[i], n) end
  end
  local ir, counts = k{grid = 1, block = 1}:ir(x, 5), {}
  for i, pattern in ipairs { "%d if ", "%d block ", " for ", " break ", " = load " } do
    counts[i] = select(2, ir:gsub(pattern, ""))
  end
  print(table.unpack(counts)) -- if, block, for, break, load
end

shape(function(x, n) -- expect: 0	0	0	0	0
  local a = x[0]
  if a > 2 then
    local e = x[1]
    if e > 1 then e = 2 end
  elseif a > 1 then
    local y = 0
    if n < 4 then y = 3 end
    if n > y then y = x[2] end
  end
  for i = 1, n do
    local q = 1
    if i == 2 then q = 3 end
    for j = q, i do if j > n then q = j end end
  end
  x[2] = 5
end)

shape(function(x, n) -- expect: 1	1	0	1	0
  if n > 7 then
    x[1] = 5
    goto done
  end
  if x[0] > 3 then goto done end
  if n == 2 then
    if x[3] > 1 then goto done end
  end
  ::done::
  x[2] = 7
  if n > 3 then return end
end)

shape(function(x, n) -- expect: 0	0	0	0	0
  local function tell(i)
    if i > 3 then return end
    if i > 1 then return else return end
  end
  tell(n)
  tell(x[0])
  x[1] = 1
end)

-- Code after the jump keeps it.
shape(function(x, n) -- expect: 1	1	0	1	0
  do
    if n > 2 then goto out end
    x[1] = 3
  end
  ::out::
  x[2] = 4
end)

-- A loop that only waits stays, and so does what leaves it.
shape(function(x, n) -- expect: 3	0	0	3	3
  while x[0] > 3 do
    if n == x[1] then break end
    if x[2] > 7 then if x[3] > 2 then break end break end
  end
end)
