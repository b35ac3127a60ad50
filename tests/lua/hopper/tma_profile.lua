-- What profile counts of boxes: a request is a box, its bytes those inside the tensor.
local k = kernel("boxes", function(A, C)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(8 * 32 * 4)
    tma_load(tile(tma_tensor(A), {8, 32}, {blockIdx.x, 0}), s, full[0])
    full[0]:wait(0)
    tma_store(s, tile(tma_tensor(C), {8, 32}, {blockIdx.x, 0}))
  end
end)
device "cpu"
local A, C = zeros(f32, layout({12, 20}, {24, 1})), zeros(f32, row_major{12, 24})
local p = profile(function() k{grid = 2, block = 32}(A, C) end)
for _, line in ipairs(p.kernels[1].lines) do
  for _, a in ipairs(line.accesses) do
    print(line.line, a.op, a.space, a.tensor, a.requests, a.bytes, a.sectors or a.wavefronts)
  end
end
-- expect: 7	load	global	A	2	960	36
-- expect: 7	store	shared	s	2	2048	16
-- expect: 9	store	global	C	2	1152	36
-- expect: 9	load	shared	s	2	2048	16
-- needs sm_90
