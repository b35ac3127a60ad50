-- trace through a product with scales: an element comes from a row of A, a column of B and the scales of
-- both, also where two elements of 4 bits share a byte.
-- needs sm_120a
local mma = tiled_mma "SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue4m3,16>"
local k = kernel("scaled", function(A, SFA, B, SFB, C)
  local thr = mma:get_slice(threadIdx.x)
  local rA, rSFA = thr:partition_fragment_A(A), thr:partition_fragment_SFA(SFA)
  local rB, rSFB = thr:partition_fragment_B(B), thr:partition_fragment_SFB(SFB)
  local rC = thr:partition_fragment_C(C)
  copy(thr:partition_A(A), rA)
  copy(thr:partition_SFA(SFA), rSFA)
  copy(thr:partition_B(B), rB)
  copy(thr:partition_SFB(SFB), rSFB)
  clear(rC)
  gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
  copy(rC, thr:partition_C(C))
end, { static_shapes = true })
local args = { ones(f4e2m1, row_major { 16, 64 }), ones(f8ue4m3, row_major { 16, 4 }),
               ones(f4e2m1, row_major { 8, 64 }), ones(f8ue4m3, row_major { 8, 4 }),
               zeros(f32, row_major { 16, 8 }) }
local launch = k { grid = 1, block = 32 }

-- Of each tensor: how many elements were read, the first and the last.
local read = {}
for _, row in ipairs(trace(launch, { C = { 3, 4 } }, table.unpack(args)).rows) do
  if row.kind == "reads" and row.space == "global" then
    local t = read[row.tensor] or { n = 0, first = row.offset, last = row.offset }
    t.n, t.first = t.n + 1, math.min(t.first, row.offset)
    t.last, read[row.tensor] = math.max(t.last, row.offset), t
  end
end
for _, name in ipairs { "A", "SFA", "B", "SFB" } do
  print(name, read[name].n, read[name].first, read[name].last)
end
-- expect: A	64	192	255
-- expect: SFA	4	12	15
-- expect: B	64	256	319
-- expect: SFB	4	16	19

-- The order of its sum, and the launch again from a file: the same number.
print(sum_order(launch, { C = { 3, 4 } }, table.unpack(args)).n_terms)  -- expect: 64
local file = os.tmpname()
args[2][{ 3, 0 }] = 4
capture(k:prepare { grid = 1, block = 32 } (table.unpack(args)), file, { data = true })
local again, others = replay(file)
again()
print(others[5][{ 3, 4 }], others[5][{ 4, 4 }])  -- expect: 112.0	64.0
os.remove(file)
