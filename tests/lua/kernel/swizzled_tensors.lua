-- Shared tensors with swizzled layouts: what tensors do gives what the plain layout gives.
local M <const>, N <const>, THREADS <const> = 32, 64, 64
local threads <const> = layout{8, 8}

local layouts = {
  row_major{M, N},
  composition(swizzle(3, 3, 3), row_major{M, N}),
  composition(swizzle(2, 0, 3), row_major{M, N}),
  composition(swizzle(3, 2, 3), layout{M, N}),
  composition(swizzle(2, 1, -4), row_major{M, N}),
  tile_to_shape(composition(swizzle(2, 3, 3), row_major{8, 32}), {M, N}),
  "Sw<3,2,3> o 64 o (32,64):(64,1)",
}

local cases = {}

-- Copies in and out, by threads, by rows of vectors, transposed, and in part.
function cases.copies(s, A, B)
  local t = threadIdx.x
  copy(parallelize(A, threads, t), parallelize(s, threads, t))
  cp_async_wait(0)
  sync_threads()
  local rows = zipped_divide(s, {1, 8})
  local r = fragment(s.dtype, 8)
  for i = t, size(rows, 1) - 1, THREADS do
    copy(rows(_, i), r)
    copy_if(function(j) return (j + i) % 3 ~= 0 end, r, zipped_divide(B, {1, 8})(_, i))
  end
  sync_threads()
  copy(parallelize(select(s, 1, 0), threads, t), parallelize(select(B, 1, 0), threads, t))
end

-- Elements, with everything known of their coordinates or nothing.
function cases.elements(s, A, B)
  local t = threadIdx.x
  for i = t, M * N - 1, THREADS do s[i] = A[i] end
  sync_threads()
  for i = 0, M - 1 do B[{i, t}] = s[{i, N - 1 - t}] end
  B[{3, t}] = cast(s[{t % 4 * 8 + 5, 7}] + s[{5, 7}], s.dtype)
  if s.dtype ~= f16 then
    sync_threads()
    atomic_add(s, {t % 2, 3}, 2)
    sync_threads()
    if t == 0 then B[{0, 0}], B[{1, 0}] = s[{0, 3}], s[{1, 3}] end
  end
end

-- fill, axpby, and a guarded tile that overhangs.
function cases.work(s, A, B)
  local t = threadIdx.x
  local mine, from = parallelize(s, threads, t), parallelize(A, threads, t)
  fill(mine, 2)
  sync_threads()
  if s.dtype ~= f16 then axpby(3, from, 1, mine) end
  sync_threads()
  local g, h = guard(s), guard(B)
  local piece = depth(s) == 1 and {7, 13} or {8, 32}
  for k = 0, (N - 1) // piece[2] do
    if t * piece[1] < M then copy(tile(g, piece, {t, k}), tile(h, piece, {t, k})) end
  end
end

-- The same memory as larger and smaller elements.
function cases.recast(s, A, B)
  local t = threadIdx.x
  for i = t, M * N - 1, THREADS do s[i] = A[i] end
  sync_threads()
  local bits = s.dtype == f16 and u16 or i32
  copy(parallelize(recast(s, bits), threads, t), parallelize(recast(B, bits), threads, t))
end

-- Products: A and B from swizzled memory, C there too; one half of K whole, the other column by column.
function cases.gemm(s, A, B)
  local t = threadIdx.x
  copy(parallelize(A, threads, t), parallelize(s, threads, t))
  cp_async_wait(0)
  sync_threads()
  local upper, lower = tile(s, {16, 64}, {0, 0}), tile(s, {16, 64}, {1, 0})
  local c = fragment(f32, layout{2, 2})
  clear(c)
  gemm(tile(upper, {2, 32}, {t % 8, 0}), tile(lower, {2, 32}, {t // 8, 0}), c)
  local x, y = tile(upper, {2, 32}, {t % 8, 1}), tile(lower, {2, 32}, {t // 8, 1})
  for k in axes(x, 1) do gemm(x(_, k), y(_, k), c, {order = "rows"}) end
  sync_threads()
  if s.dtype == f32 then
    local d = tile(s, {2, 2}, {t % 8, t // 8})
    copy(c, d)
    gemm(tile(A, {2, 4}, {t % 16, 1}), tile(A, {2, 4}, {t // 16, 2}), d)
    sync_threads()
    copy(parallelize(s, threads, t), parallelize(B, threads, t))
  else
    for i = 0, 3 do B[{t % M, t // M * 4 + i}] = cast(c[i], f16) end
  end
end

local function run(case, shape, dtype)
  local elements = {}
  for i = 0, M * N - 1 do elements[i + 1] = i * 7 % 31 - (dtype == u8 and 0 or 11) end
  local A, B = view(from_table(dtype, elements), layout{M, N}), zeros(dtype, {M, N})
  kernel(function(A, B)
    local memory = shared(dtype, shape)
    case(memory, tile(A, {M, N}, {0, 0}), tile(B, {M, N}, {0, 0}))
  end, {static_shapes = true}){grid = 1, block = THREADS}(A, B)
  return B:to "cpu"
end

local names = {}
for name in pairs(cases) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  for _, dtype in ipairs(name == "copies" and {f32, f16, f64, u8} or {f32, f16}) do
    local want = run(cases[name], layouts[1], dtype)
    local moved = false
    for i = 0, M * N - 1 do moved = moved or want[i] ~= 0 end
    assert(moved)
    for i = 2, #layouts do
      if not allclose(run(cases[name], layouts[i], dtype), want, {rtol = 0, atol = 0}) then
        print("wrong:", name, dtype, layouts[i])
      end
    end
  end
end
print("done")  -- expect: done

-- What a kernel's script is told of them.
kernel(function(A)
  local s = shared(f32, layouts[2])
  local t = tile(s, {8, 8}, {1, 2})
  print(s)                  -- expect: tensor s f32 Sw<3,3,3> o 0 o (32,64):(64,1) in shared memory
  print(s.layout)           -- expect: Sw<3,3,3> o 0 o (32,64):(64,1)
  print(size(s), cosize(s)) -- expect: 2048	2048
  print(t.layout)           -- expect: Sw<3,3,3> o 528 o (8,8):(64,1)
  print(t.layout:origin())  -- expect: tile	Sw<3,3,3> o 0 o (32,64):(64,1)	(8,8)	(1,2)
  print(s(_, 5).layout)     -- expect: Sw<3,3,3> o 5 o (32):(64)
  print(max_common_vector(s, row_major{32, 64})) -- expect: 8
  if threadIdx.x == 0 then
    s[0] = 1
    A[0] = s[0]
  end
end){grid = 1, block = 32}(zeros(f32, 4))
