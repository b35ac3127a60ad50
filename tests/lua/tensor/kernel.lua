-- Tensors of a kernel: what they are, and what cannot be done with them.
local H, B = zeros(f32, {100, 8}), zeros(f32, 64)
local function trace(fn)
  local k = kernel("k", fn)
  local passed, message = pcall(function() k{grid = 1, block = 32}(H) end)
  if not passed then
    print((message:gsub("^[^:]*:%d+: ", "")))
  end
end
local kept = {}
trace(function(A)
  local s = shared(f32, {8, 4})
  print(A.dtype, A.layout, A.name, s.name, A.device) -- expect: f32	(?,?):(1,?)	A	s	nil
  print(s)                                  -- expect: tensor s f32 (8,4):(1,8) in shared memory
  print(tile(s, {4, 2}, {1, 1}).layout)     -- expect: (4,2):(1,8)
  print(view(s, row_major{4, 8}).layout, rank(A), s:size()) -- expect: (4,8):(8,1)	2	32
  print(zipped_divide(A, {50, 4}).layout)   -- expect: ((50,4),(?,?)):((1,?),(50,?))
  fill(A(1, _), 3)
  kept[1] = A
end)
print(H[{1, 5}], H[{2, 5}])                 -- expect: 3.0	0.0
-- expect: tensor A was made in kernel 'k' (tests/lua/tensor/kernel.lua:11) and is used on the host; it exists only while that kernel is traced
print((select(2, pcall(function() return kept[1][0] end)):gsub("^[^:]*:%d+: ", "")))
-- expect: tensor A was made in kernel 'k' (tests/lua/tensor/kernel.lua:11) and is used on the host; it exists only while that kernel is traced
print((select(2, pcall(tile, kept[1], {2, 2}, 0)):gsub("^[^:]*:%d+: ", "")))
-- expect: B[3]: a tensor of the host is not available inside a kernel; pass it as an argument
trace(function(A) A[{0, 0}] = B[3] end)
-- expect: B[3]: a tensor of the host is not available inside a kernel; pass it as an argument
trace(function(A) rank(A) B[3] = 1 end)
-- expect: copy: B is a tensor of the host; pass it to the kernel as an argument
trace(function(A) copy(A, B) end)
-- expect: totable: A is a tensor of a kernel; expected one of the host
trace(function(A) A:totable() end)
-- expect: close: A is a tensor of a kernel; it has no memory to give back
trace(function(A) A:close() end)
-- expect: s[{8,0}]: coordinate (8,0) is outside the shape (8,4); counting starts at 0
trace(function(A) rank(A) local s = shared(f32, {8, 4}) s[{8, 0}] = 1 end)
-- expect: view: layout 33:1 reaches from element 0 to 32 of the 32 elements of s
trace(function(A) rank(A) local s = shared(f32, {8, 4}) view(s, 33) end)
-- expect: parallelize: extent 6 of mode 1 of s is not a multiple of the thread layout's 4; pad the tensor or write guard(s)
trace(function(A) rank(A) local s = shared(f32, {8, 6}) parallelize(s, layout{8, 4}, 0) end)
-- expect: tile: extent 100 of mode 0 of A is not a multiple of the tile's 32; pad the tensor or write guard(A)
trace(function(A) clear(tile(A, {32, 8}, {blockIdx.x, 0})) end)
