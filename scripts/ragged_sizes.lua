-- ragged_sizes.lua: products and transposes of sizes that no tile divides, checked against the
-- reference on the device in use. Prints PASS or FAIL for each, and how many at the end.
--   cuttle scripts/ragged_sizes.lua [largest]    sizes up to `largest`; on a GPU 5000, else 140
--   cuttle scripts/ragged_sizes.lua size size... these sizes
local largest = tonumber(arg[1] or (device().sm and 5000 or 140))
local sizes = {}
for _, n in ipairs { 0, 1, 7, 31, 63, 97, 127, 128, 129, 1009, 4093, 4095, 4096, 4097 } do
  if n <= largest then sizes[#sizes + 1] = n end
end
if #arg > 1 then
  sizes, largest = {}, 0
  for i, text in ipairs(arg) do
    sizes[i] = assert(math.tointeger(text), text .. " is no size")
    largest = math.max(largest, sizes[i])
  end
end

local function make_matmul(bM, bN, bK)
  local sA_layout, sB_layout = layout({ bM, bK }, { 1, bM + 1 }), layout({ bN, bK }, { 1, bN + 1 })
  local tA, tB, tC = layout { 32, 8 }, layout { 32, 8 }, layout { 16, 16 }
  return kernel("ragged_matmul", function(A, B, C)
    local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
    local gA = tile(guard(A), { bM, bK }, { blockIdx.x, _ })
    local gB = tile(guard(B), { bN, bK }, { blockIdx.y, _ })
    local gC = tile(guard(C), { bM, bN }, { blockIdx.x, blockIdx.y })
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tB, threadIdx.x), parallelize(sB, tB, threadIdx.x)
    local tCsA = parallelize(sA, tC, threadIdx.x, { 1, _ })
    local tCsB = parallelize(sB, tC, threadIdx.x, { _, 1 })
    local tCgC = parallelize(gC, tC, threadIdx.x)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)
    for k in axes(tAgA, 2) do
      copy(tAgA(_, _, k), tAsA)
      copy(tBgB(_, _, k), tBsB)
      cp_async_wait(0)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(tCrC, tCgC)
  end)
end
local matmul = make_matmul(128, 128, 8)

local transpose = kernel("ragged_transpose", function(A, B)
  local s = shared(A.dtype, layout({ 32, 32 }, { 1, 33 }))
  local gA = tile(guard(A), { 32, 32 }, { blockIdx.x, blockIdx.y })
  local gB = tile(guard(B), { 32, 32 }, { blockIdx.y, blockIdx.x })
  local threads = layout { 32, 8 }
  copy(parallelize(gA, threads, threadIdx.x), parallelize(s, threads, threadIdx.x))
  cp_async_wait(0)
  sync_threads()
  local turned = view(s, layout({ 32, 32 }, { 33, 1 }))
  copy(parallelize(turned, threads, threadIdx.x), parallelize(gB, threads, threadIdx.x))
end)

-- What is written stands inside a larger tensor, of which the rest must stay as it is.
local function inside(M, N, write)
  local around = full(f32, { M + 2, N + 3 }, -7)
  write(view(around, layout({ M, N }, { 1, M + 2 })))
  local wanted = full(f32, { M + 2, N + 3 }, -7)
  local result = tensor(f32, { M, N })
  if M * N > 0 then
    copy(view(around, layout({ M, N }, { 1, M + 2 })), result)
    copy(result, view(wanted, layout({ M, N }, { 1, M + 2 })))
  end
  return result, allclose(around, wanted, { rtol = 0, atol = 0 })
end

local n_passed, n_failed = 0, 0
local function report(name, ok)
  n_passed, n_failed = n_passed + (ok and 1 or 0), n_failed + (ok and 0 or 1)
  if not ok or largest <= 200 or name:find("40") then print(ok and "PASS" or "FAIL", name) end
end

local function check_matmul(M, N, K)
  local A, B = rand(f32, { M, K }), rand(f32, { N, K })
  local C, kept = inside(M, N, function(out)
    matmul { grid = { cdiv(M, 128), cdiv(N, 128) }, block = 256 }(A, B, out)
  end)
  local same = M * N == 0 or allclose(C, reference.matmul(A, B))
  report(("matmul %dx%dx%d"):format(M, N, K), kept and same)
end

local function check_transpose(M, N)
  local A = rand(f32, { M, N })
  local B, kept = inside(N, M, function(out)
    transpose { grid = { cdiv(M, 32), cdiv(N, 32) }, block = 256 }(A, out)
  end)
  local exact = { rtol = 0, atol = 0 }
  local same = M * N == 0 or allclose(B, view(A, layout({ N, M }, { M, 1 })), exact)
  report(("transpose %dx%d"):format(M, N), kept and same)
end

for _, M in ipairs(sizes) do
  for _, N in ipairs(sizes) do
    check_transpose(M, N)
    for _, K in ipairs { 0, 1, 8, 31, 64, M, 127 } do
      if M * N * K < 2 ^ 37 then check_matmul(M, N, K) end
    end
  end
  collectgarbage()
end
print(("%d passed, %d failed on %s"):format(n_passed, n_failed, device().name))
os.exit(n_failed == 0, true)
