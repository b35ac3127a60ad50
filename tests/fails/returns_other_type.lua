-- The results of two paths have one type.
local k = kernel("refused", function(x)
  local function is_small(v)
    if v > 1.0 then return false end
    return 1.0 -- expect error: float is returned here but bool in line 4; return one type on every path
  end
  x[0] = is_small(x[1])
end)
k{grid = 1, block = 32}(zeros(f32, 32))
