-- short.lua: 1234567 -> "1.23M": three digits that count.
local UNITS <const> = { "", "k", "M", "G", "T", "P" }

return function(n)
  local unit, x = 1, n
  while x >= 999.5 and unit < #UNITS do
    x, unit = x / 1000, unit + 1
  end
  if unit == 1 then return ("%.3g"):format(x) end
  return (x < 9.995 and "%.2f%s" or x < 99.95 and "%.1f%s" or "%.0f%s"):format(x, UNITS[unit])
end
