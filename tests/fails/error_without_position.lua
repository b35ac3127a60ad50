local x = nil
print(x.y)  -- expect error: attempt to index a nil value (local 'x')
