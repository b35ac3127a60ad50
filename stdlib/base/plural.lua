-- plural.lua: "1 value", "3 values".
return function(n, noun)
  return n == 1 and "1 " .. noun or ("%d %ss"):format(n, noun)
end
