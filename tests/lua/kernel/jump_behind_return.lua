-- A break behind a conditional return leaves its loop for all that are left: what the loop computed
-- before it is there behind the loop.
local out = zeros(i32, 8)
kernel("leaves", function(t)
  local i = threadIdx.x
  local b = 0
  for c = 1, 2 do
    if c > 5 then goto skip end
    b = i * 10 + c
    if i == 3 then return end
    break
    ::skip::
  end
  t[i] = b
end){grid = 1, block = 8}(out)
print(table.concat(out:totable(), " ")) -- expect: 1 11 21 0 41 51 61 71

-- The same with a goto in place of the return, and behind a loop inside a loop.
local function run(body)
  local result = zeros(i32, 8)
  kernel("leaves", function(t) t[threadIdx.x] = body(threadIdx.x) end){grid = 1, block = 8}(result)
  local same = true
  for i = 0, 7 do same = same and result[i] == body(i) end
  print(same, table.concat(result:totable(), " "))
end
run(function(i) -- expect: true	1 11 21 -1 41 51 61 71
  local b, done = 0, -1
  do
    for c = 1, 2 do
      b = i * 10 + c
      if i == 3 then goto out end
      break
    end
    done = b
  end
  ::out::
  return done
end)
run(function(i) -- expect: true	2 2 -1 20 20 20 20 20
  local b = 0
  for k = 1, 3 do
    for c = 1, 2 do
      b = b + i
      if i == 2 then return -1 end
      if i > 2 then b = 20 goto done end
      break
    end
    b = b + (i == 0 and 1 or 0)
    if b == 2 then break end
  end
  ::done::
  return b
end)
