-- :ir says which branches and loops were decided while tracing, by line; run-time ones are operations.
local N = 4
local function scale(v)
  if N > 2 then v = v * 2.0 end -- in each of its calls
  return v
end
local k = kernel("scale", function(x, n)
  local i = threadIdx.x
  if N > 5 then
    x[i] = 0.0
  elseif N == 4 then
    for j = 1, 3 do
      if j == 2 then goto continue end
      if i < n then x[i] = scale(x[i]) end
      ::continue::
    end
  end
  local turns = 0
  while turns < 5 do turns = turns + 1 end
  for _, v in ipairs{1.0, 2.0} do x[i] = x[i] + v * turns end
  for _ = 1, 2 do for u = 0.0, 1.0, 0.5 do x[i] = x[i] + u end end
  for _ in range(3) do x[i] = x[i] + 1.0 end
  for _ = 3, 1 do x[i] = 0.0 end
end)
local config = k{grid = 1, block = 32}
for line in config:ir(zeros(f32, 32), 8):gmatch("static [^\n]*") do print(line) end
-- expect: static if false ; 9
-- expect: static elseif true ; 11
-- expect: static for 3 iterations ; 12
-- expect: static if true once, false 2 times ; 13
-- expect: static if true 2 times ; 4
-- expect: static while 5 iterations ; 19
-- expect: static for 2 iterations ; 20
-- expect: static for 8 iterations in 3 loops ; 21
-- expect: static for 0 iterations ; 23

-- Where all was decided at run time there is nothing to say.
local plain = kernel("plain", function(x, n) if n > 1 then x[0] = 1.0 end end)
print(plain{grid = 1, block = 32}:ir(zeros(f32, 32), 8):find("static") == nil) -- expect: true

-- Looking compiles nothing, and keeps nothing.
print(config:info(zeros(f32, 32), 8) ~= nil) -- expect: true
