return function(a)
  if a == 1 then goto one end
  if a == 2 then goto two end
  ::one:: f()
  ::two:: do local a = 1 for a = 1, 2 do if a then break end end end
  if a then goto one end
  a = a + 1
  return a
end
