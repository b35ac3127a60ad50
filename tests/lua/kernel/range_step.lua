-- A run-time step of unknown sign is refused; what the message says to write works.
local function sum(step, launch)
  local y = zeros(i32, 1)
  local ok, why = pcall(function()
    kernel("k", function(y, n)
      local s = 0
      for i in range(0, 10, step(n)) do s = s + i end
      y[0] = s
    end){grid = 1, block = 1}(y, launch)
  end)
  return ok and y[0] or why:gsub("^[^:]*:%d+: ", "")
end
-- expect: the step 'n' of a run-time 'for' may be 0 or negative; its sign must be known: write max(n, 1), pass static(n) to the kernel, or write a while loop
print((sum(function(n) return n end, 3)))
print(sum(function(n) return max(n, 1) end, 3)) -- expect: 18
print(sum(function(n) return n end, static(3))) -- expect: 18
