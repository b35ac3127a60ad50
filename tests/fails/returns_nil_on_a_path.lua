-- A path cannot give nil: a thread has no such value.
local k = kernel("refused", function(x)
  local function found(v)
    if v > 1.0 then return nil end -- expect error: nil is returned under a run-time condition; only numbers and booleans can differ by path
    return v
  end
  x[0] = found(x[1])
end)
k{grid = 1, block = 32}(zeros(f32, 32))
