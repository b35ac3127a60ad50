-- Nor a tensor: there is no choosing between two in a kernel.
local k = kernel("refused", function(x)
  local function row(v, t)
    if v > 1.0 then return t end -- expect error: a tensor is returned under a run-time condition; only numbers and booleans can differ by path
    return v
  end
  x[0] = row(x[1], x)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
