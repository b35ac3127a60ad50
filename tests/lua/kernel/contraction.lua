-- a*b + c becomes one fma where the product has no other use that counts: what is computed for
-- nothing is no use.
local function fmas(f)
  local x = zeros(f32, 4)
  local source = kernel("k", f){grid = 1, block = 1}:source(x)
  return select(2, source:gsub("fmaf%(", ""))
end
print(fmas(function(x)
  local p = x[0] * x[1]
  x[2] = p + x[3]
end)) -- expect: 1
print(fmas(function(x)
  local p = x[0] * x[1]
  local _ = rsqrt(p + 1.0) -- nobody uses it
  x[2] = p + x[3]
end)) -- expect: 1
print(fmas(function(x)
  local p = x[0] * x[1]
  x[0] = p
  x[2] = p + x[3]
end)) -- expect: 0

-- So the squares of a row are summed by fma.
local norm = row_kernel("norm", function(row, x) return x * rsqrt(row:mean(x * x)) end)
print(norm:source(zeros(bf16, row_major{1, 64})):find("= fmaf(", 1, true) ~= nil) -- expect: true

do -- and the CPU engine rounds as a GPU does: once
  local x = from_table(f32, {1 + 2.0 ^ -23, 1 - 2.0 ^ -23, -1, 0})
  kernel("k", function(x)
    local p = x[0] * x[1]
    local _ = p + 1.0
    x[3] = p + x[2]
  end){grid = 1, block = 1}(x)
  print(x[3] == -(2.0 ^ -46)) -- expect: true
end
