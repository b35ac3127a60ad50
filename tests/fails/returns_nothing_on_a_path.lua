-- Also where a path ends without return.
local k = kernel("refused", function(x)
  local function halves(v)
    if v > 0.0 then return v * 0.5 end -- expect error: a value is returned on some paths but not at the end of the function; return one there, too
  end
  x[0] = halves(x[1])
end)
k{grid = 1, block = 32}(zeros(f32, 32))
