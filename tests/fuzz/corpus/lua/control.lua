local W <const> = 4
return function(x, out, n)
  local i, s = threadIdx.x, 0.0
  if i < n and x[i] > 0 then s = 1 elseif not n then return else s = W end
  for k = 1, n, 2 do if k == 3 then goto next end s = s + k ::next:: end
  while s < n do s = s + 1 if s == 7 then break end end
  repeat local z = s s = z + 1 until z > 3 or x[s]
  for a, b in pairs(out) do out[a], s = b, a end
  do goto back ::back:: s = s - 1 if s > 2 then goto back end end
  out[{ i, 0 }] = s
end
