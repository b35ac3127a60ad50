-- What boxes need: each rule's message, and what the launch refuses.
-- needs sm_90
local function trouble(A, tiler, s_layout, options)
  options = options or {}
  local k = kernel("rules", function(x)
    local s, full = shared(options.dtype or x.dtype, s_layout), mbarrier(1, 1)
    local c = tma_tensor(options.part and options.part(x) or x)
    tma_load(tile(c, tiler, options.at or {blockIdx.x, 0}), options.slice and options.slice(s) or s,
             full[0])
  end)
  local ok, message = pcall(function() k{grid = 1, block = 32}(A) end)
  print(ok and "ok" or message:match("^[^:]*:%d+: (.*)"))
end
local A = zeros(f32, row_major{64, 64})
local atom128 = composition(swizzle(3, 2, 3), row_major{8, 32})

trouble(A, {8, 32}, atom128)
-- expect: ok
trouble(zeros(f32, layout({64, 64}, {66, 1})), {8, 32}, atom128)
-- expect: tma_load: mode 0 of x has stride 66, of 4 bytes each; a tensor map needs a multiple of 16 bytes: pad the rows of x
trouble(zeros(f32, layout({64, 64}, {128, 2})), {8, 32}, atom128)
-- expect: tma_load: adjacent elements of s are 2 apart in x (mode 1, step 1); a box is contiguous in both, so order the shared layout along the mode of stride 1
trouble(A, {8, 32}, layout{8, 32})
-- expect: tma_load: adjacent elements of s are 64 apart in x (mode 0, step 1); a box is contiguous in both, so order the shared layout along the mode of stride 1
trouble(A, {8, 2}, row_major{8, 2})
-- expect: tma_load: s has rows of 8 bytes (2 elements of mode 1 of x in a row); expected a multiple of 16 bytes
trouble(A, {8, 32}, layout({8, 32}, {36, 1}))
-- expect: tma_load: s (8,32):(36,1) is 8 boxes of x, of 128 bytes in a row, 144 bytes apart; a box begins at a multiple of 128 bytes, and at most 64 instructions are allowed: use a layout without gaps, as gmma_layout makes it
trouble(A, {8, 64}, composition(swizzle(3, 2, 3), row_major{8, 64}))
-- expect: ok
trouble(A, {8, 16}, composition(swizzle(3, 2, 3), row_major{8, 16}))
-- expect: tma_load: s has rows of 64 bytes under a swizzle of 128 bytes; both must be equal: use gmma_layout with 64 bytes, or other tiles
trouble(A, {8, 32}, composition(swizzle(2, 3, 3), row_major{8, 32}))
-- expect: tma_load: the swizzle Sw<2,3,3> of s is Sw<2,5,3> on bytes; the hardware has Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>, those of gmma_layout(f32, ...)
trouble(A, {8, 32}, row_major{8, 16})
-- expect: tma_load: the tile has shape (8,32) but s is (8,16):(16,1); give the shared tensor the tile's shape
trouble(A, {8, 32}, row_major{8, 32}, {dtype = bf16})
-- expect: tma_load: x is f32 but s is bf16; the element types must be equal
trouble(zeros(f32, layout({2, 2, 2, 2, 2, 4}, {64, 32, 16, 8, 4, 1})), {2, 2, 2, 2, 2, 4},
        layout({2, 2, 2, 2, 2, 4}, {64, 32, 16, 8, 4, 1}), {at = {0, 0, 0, 0, 0, 0}})
-- expect: tma_load: x has 6 modes; a tensor map has at most 5: slice or coalesce it
trouble(A, {8, 32}, layout({8, 32, 2}, {32, 1, 256}), {slice = function(s) return s(_, _, 0) end})
-- expect: ok
trouble(A, {8, 32}, layout({8, 32, 3}, {32, 1, 260}),
        {slice = function(s) return s(_, _, blockIdx.x) end})
-- expect: tma_load: s is not known to begin at a multiple of 128 bytes in its memory; slice tiles of such a size
trouble(A, {8, 32}, row_major{8, 32},
        {part = function(x) return tile(x, {32, 64}, {blockIdx.x, 0}) end})
-- expect: tma_load: the place of x in memory depends on more than the kernel's arguments, or on more than 255 operations with them, but its tensor map is made before the launch; slice tma_tensor(...) instead of the tensor
trouble(A, {8, 32}, row_major{8, 32}, {part = function(x) return tile(x, {32, 64}, {1, 0}) end})
-- expect: ok
trouble(A, {8, 32}, row_major{8, 32}, {part = function(x) return x(_, _) end})
-- expect: ok

local function refused(f)
  local k = kernel("refused", function(x)
    local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
    f(x, s, full)
  end)
  local ok, message = pcall(function() k{grid = 1, block = 32}(A) end)
  print(ok and "ok" or message:match("^[^:]*:%d+: (.*)"))
end
refused(function(x, s, full) tma_load(x, s, full[0]) end)
-- expect: tma_load: x is not a tile of a tma_tensor; write tile(tma_tensor(x), ...)
refused(function(x, s, full) tma_load(tile(tma_tensor(x), {8, 32}, {0, 0}), x, full[0]) end)
-- expect: tma_load: x is not a shared tensor that the kernel declares; write shared(f32, layout)
refused(function(_, s, full)
  tma_load(tile(identity_tensor{64, 64}, {8, 32}, {0, 0}), s, full[0])
end)
-- expect: tma_load: the tensor is not a tile of a tma_tensor; write tile(tma_tensor(A), ...)
refused(function(x, s) tma_load(tile(tma_tensor(x), {8, 32}, {0, 0}), s) end)
-- expect: tma_load: argument 3 is missing; an mbarrier, such as full[i], was expected
refused(function(x, s, full)
  tma_load(tile(tma_tensor(x), {8, 32}, {0, 0}), s, full[0], {cache = 1})
end)
-- expect: tma_load: option 'cache' is unknown; expected multicast or pair
refused(function(x, s) tma_store(s, tile(tma_tensor(x), {8, 32}, {0, 0}), {reduce = "mul"}) end)
-- expect: tma_store: reduce is "mul"; expected "add", "min", "max", "and", "or" or "xor"
refused(function(x, s) tma_store(s, tile(tma_tensor(x), {8, 32}, {0, 0}), {reduce = "min"}) end)
-- expect: tma_store: the hardware has no reduction "min" of f32; of this type it has "add"
refused(function(x, s) tma_store(s, tile(tma_tensor(x), {8, 32}, {0, 0}), {reduce = "add"}) end)
-- expect: ok
refused(function(_, s) tma_tensor(s) end)
-- expect: tma_tensor: s is not a tensor in global memory; boxes are loaded from and stored to arguments of the kernel
refused(function(x) tma_tensor(tile(guard(x), {48, 64}, {blockIdx.x, 0})) end)
-- expect: tma_tensor: x is a part of a guarded tensor; call tma_tensor with the whole tensor and tile the result: elements outside are clipped
refused(function(x) tma_tensor(x, {promotion = 100}) end)
-- expect: tma_tensor: promotion is 100; expected 0, 64, 128 or 256 bytes
refused(function() tma_store_wait(-1) end)
-- expect: tma_store_wait: number of groups -1 is out of range; 0 to 63 were expected
