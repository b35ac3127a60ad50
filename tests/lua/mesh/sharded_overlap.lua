-- Products of sharded tensors with the collective beside them in one kernel: the same numbers as in
-- turn, from both sides, over one axis or two, and the plan says so. Small integers: sums are exact.
device "cpu:8"
local sharded = require "cuttle.sharded_matmul"
local line, square = mesh"(x=2)", mesh"(x=2,y=2)"

local function small(dtype, shape)
  return view(reference.cast(rand(i32, shape[1] * shape[2], -1, 2), dtype), row_major(shape))
end

local function same(a, b) return allclose(a, b, { atol = 0, rtol = 0 }) end

-- a, b and c are specs; layout_c: of the whole C. Prints the kernel, and whether C is right.
local function try(m, dtype, sizes, a, b, c, layout_c, options)
  local A, B = small(dtype, { sizes[1], sizes[3] }), small(dtype, { sizes[2], sizes[3] })
  local SA, SB = m:shard(A, a), m:shard(B, b)
  local C = c and m:tensor(dtype, layout_c{ sizes[1], sizes[2] }, c)
  local opts = { overlap = true }
  for key, value in pairs(options or {}) do opts[key] = value end
  local plan = sharded.plan(SA, SB, C, opts)
  local out = matmul(SA, SB, C, opts)
  local want = matmul(A, B, zeros(dtype, layout_c{ sizes[1], sizes[2] }),
    { alpha = opts.alpha or 1.0 })
  print(plan.kernel, plan.why, same(out:whole(), want), same(SA:whole(), A), same(SB:whole(), B))
end

-- Rows of A, of B, of both axes, of one of two; N uneven over the other axis.
local small_sizes <const> = { 64, 48, 32 }
try(line, bf16, small_sizes, "(M@x,K)", "(N@x,K)", "(M,N@x)", row_major)
-- expect: gather_matmul	nil	true	true	true
try(line, f16, small_sizes, "(M@x,K)", "(N@x,K)", "(M@x,N)", layout, { alpha = 2.0 })
-- expect: gather_matmul	nil	true	true	true
try(square, bf16, small_sizes, "(M@x@y,K)", "(N,K)", "(M,N)", row_major)
-- expect: gather_matmul	nil	true	true	true
try(square, bf16, { 64, 95, 32 }, "(M@x,K)", "(N@y,K)", "(M,N@y)", row_major)
-- expect: gather_matmul	nil	true	true	true
try(line, bf16, { 64, 48, 32 }, "(M@x,K)", "(N@x,K)", nil, layout)
-- expect: gather_matmul	nil	true	true	true

-- Each rank gathers around its own panel.
local gathering = require "cuttle.gather_matmul"
local step, seen = gathering.step, {}
function gathering.step(panels, place, ...)
  seen[#seen + 1] = place .. " of " .. #panels
  return step(panels, place, ...)
end
try(square, bf16, small_sizes, "(M@y@x,K)", "(N,K)", "(M,N)", row_major)
-- expect: gather_matmul	nil	true	true	true
print(table.concat(seen, ", ")) -- expect: 0 of 4, 2 of 4, 1 of 4, 3 of 4
gathering.step = step

-- Sums, sent to the owners of rows, and of columns.
try(line, bf16, { 64, 48, 64 }, "(M,K@x)", "(N,K@x)", "(M@x,N)", row_major)
-- expect: matmul_scatter	nil	true	true	true
try(line, f16, { 48, 64, 64 }, "(M,K@x)", "(N,K@x)", "(M,N@x)", layout)
-- expect: matmul_scatter	nil	true	true	true
try(square, bf16, { 64, 48, 64 }, "(M@y,K@x)", "(N,K@x)", "(M@x@y,N)", row_major)
-- expect: matmul_scatter	nil	true	true	true

-- What cannot be: the reason, by the plan and by an error.
local A, B = small(bf16, { 64, 64 }), small(bf16, { 64, 64 })
local SA, SB = line:shard(A, "(M@x,K)"), line:shard(B, "(N@x,K)")
local function why(a, b, c, options)
  options = options or {}
  print((sharded.plan(a, b, c, options).why))
  options.overlap = true
  print((select(2, pcall(matmul, a, b, c, options)):gsub("^.-: ", "", 1)))
end
local rows = line:tensor(bf16, row_major{ 64, 64 }, "(M,N@x)")
why(SA, SB, rows, { config = "small" })
-- expect: the option config is of matmul's kernels
-- expect: matmul: overlap is true, but the option config is of matmul's kernels; leave the option out
why(SA, SB, line:tensor(bf16, { 64, 64 }, "(M,N@x)"))
-- expect: no collective next to the product is one that a kernel overlaps, with operands contiguous along K
-- expect: matmul: overlap is true, but no collective next to the product is one that a kernel overlaps, with operands contiguous along K; leave the option out
-- Panels of different heights, rows that are not whole vectors, and rows that are not spread in one
-- piece each: their parts are not those of the kernels.
local function refuses(m, sizes, a, b, c)
  local X, Y = small(bf16, { sizes[1], sizes[3] }), small(bf16, { sizes[2], sizes[3] })
  local SX, SY, Z = m:shard(X, a), m:shard(Y, b), m:tensor(bf16, row_major{ sizes[1], sizes[2] }, c)
  matmul(SX, SY, Z)
  print((pcall(sharded.plan, SX, SY, Z, { overlap = true })), same(Z:whole(), matmul(X, Y)))
end
refuses(line, { 63, 48, 32 }, "(M@x,K)", "(N@x,K)", "(M,N@x)") -- expect: false	true
refuses(line, { 64, 48, 36 }, "(M@x,K)", "(N@x,K)", "(M,N@x)") -- expect: false	true
refuses(line, { 64, 48, 32 }, "(M=(2,32),K=32):((1@1,32@0),1@0)", "(N@x,K)", "(M,N@x)")
-- expect: false	true
refuses(line, { 64, 48, 32 }, "(M=(16,2,2),K=32):((32@0,1@1,512@0),1@0)", "(N@x,K)", "(M,N@x)")
-- expect: false	true
refuses(line, { 64, 48, 64 }, "(M,K@x)", "(N,K@x)", "(M=(16,2,2),N=48):((48@0,1@1,768@0),1@0)")
-- expect: false	true
refuses(square, { 64, 48, 32 }, "(M@x,K@y)", "(N,K)", "(M,N)") -- expect: false	true

-- matmul_scatter has no alpha, and gathered rows of y alone would not lie in A's order.
why(line:shard(A, "(M,K@x)"), line:shard(B, "(N,K@x)"), line:tensor(bf16, row_major{ 64, 64 },
  "(M@x,N)"), { alpha = 2.0 })
-- expect: no collective next to the product is one that a kernel overlaps, with operands contiguous along K
-- expect: matmul: overlap is true, but no collective next to the product is one that a kernel overlaps, with operands contiguous along K; leave the option out
why(square:shard(small(bf16, { 64, 32 }), "(M@x@y,K)"),
  square:shard(small(bf16, { 48, 32 }), "(N,K)"),
  square:tensor(bf16, row_major{ 64, 48 }, "(M=(16,2,2),N=48):((48@0,1@1,768@0),1@0)"))
-- expect: no collective next to the product is one that a kernel overlaps, with operands contiguous along K
-- expect: matmul: overlap is true, but no collective next to the product is one that a kernel overlaps, with operands contiguous along K; leave the option out
local batch = line:zeros(bf16, { 64, 64, 2 }, "(M@x,K,L)")
why(batch, batch, line:zeros(bf16, { 64, 64, 2 }, "(M,N@x,L)"))
-- expect: there are batches
-- expect: matmul: overlap is true, but there are batches; leave the option out
local F = line:shard(reference.cast(A, f32), "(M@x,K)")
why(F, F, line:tensor(f32, row_major{ 64, 64 }, "(M,N@x)"))
-- expect: it needs f16 or bf16 operands of one type
-- expect: matmul: overlap is true, but it needs f16 or bf16 operands of one type; leave the option out
print(sharded.plan(SA, SB, rows).kernel, sharded.plan(SA, SB, rows).why)
-- expect: matmul	the CPU engine uses it only with overlap = true
print(sharded.plan(SA, SB, rows, { overlap = false }).why) -- expect: overlap is false

-- Without it, C has the bits of parts that are gathered and multiplied.
local plain = line:tensor(bf16, row_major{ 64, 64 }, "(M,N@x)")
matmul(SA, SB, plain)
matmul(SA, SB, rows, { overlap = false })
print(same(plain:whole(), rows:whole())) -- expect: true
