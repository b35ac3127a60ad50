-- What a table or a shared local got before a conditional jump is there behind what the jump leaves.
local function run(body)
  local out = zeros(i32, 8)
  kernel("jumps", function(t) t[threadIdx.x] = body(threadIdx.x) end){grid = 1, block = 8}(out)
  local same = true
  for i = 0, 7 do same = same and out[i] == body(i) end
  print(same, table.concat(out:totable(), " "))
end
run(function(i) -- expect: true	0 2 4 6 8 10 12 14
  local t, n = {}, 0
  do
    t.double = i * 2
    if i > 3 then goto done end
    n = n + t.double
  end
  ::done::
  return t.double + 0 * n
end)
run(function(i) -- expect: true	1 3 5 7 8 10 12 14
  local c, n = 0, 0
  local function set(v) c = v end
  do
    set(i * 2)
    if i > 3 then goto done end
    n = 1
  end
  ::done::
  return c + n
end)
run(function(i) -- expect: true	3 5 2 103 4 105 106 107
  local t, last = {}, 0
  for k = 1, 3 do
    do
      if k == 1 then t.first = i end
      if i == 2 then return t.first end
      last = last + k
      if i > 2 and k == 1 then
        if i == 4 then goto out end
        last = last + 99
        break
      end
      if k == 2 then break end
    end
  end
  ::out::
  if i == 4 then return t.first end
  if i > 2 then return last - 1 + i - (i - t.first) + 1 end
  return last + (i == 1 and 2 or 0)
end)
