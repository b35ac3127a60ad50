local k = kernel("own", function()
  local r = fragment(i32, 4)
  atomic_add(r, 0, 1) -- expect error: atomic_add: r is a fragment, which belongs to one thread; shared or global memory was expected
end)
k{grid = 1, block = 32}()
