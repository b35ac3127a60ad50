-- ranks_stress.lua: the kernels that overlap products and what goes between ranks, again and again:
--   cuttle --device=cuda scripts/bench/ranks_stress.lua [RANKS] [REPETITIONS] [word ...]
-- If nothing is said, RANKS is 4 where there are as many devices, else 2, and there are 1,000
-- repetitions. Words, else all: gather, scatter, mlp (see ranks_beside.lua). The results of each
-- repetition are compared bit by bit with those of products alone, whose shares one kernel adds in
-- the same order (ranks_sums.lua).
-- Two sets of operands take turns in one workspace, and C is spoilt before each launch: what an
-- earlier launch left is wrong. The host takes the ranks in another order each time, and nothing
-- else orders them. Of wrong elements it says where they are, and what each rank's share is.
-- On the CPU mesh sizes are small.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local data, ranks_sums = require "data", require "ranks_sums"
local gathering, scattering = require "cuttle.gather_matmul", require "cuttle.matmul_scatter"
local bf16, u32, row_major, zeros, size = ct.bf16, ct.u32, ct.row_major, ct.zeros, ct.size
local threadIdx, blockIdx, blockDim, gridDim = ct.threadIdx, ct.blockIdx, ct.blockDim, ct.gridDim
local cast, range = ct.cast, ct.range

local SETS <const>, NOTED <const>, FIELDS <const>, THREADS <const> = 2, 64, 4, 256
local on_gpu = ct.device().sm ~= nil
local words = { table.unpack(arg) }
local function number_of(default)
  local n = math.tointeger(tonumber(words[1]))
  if n then table.remove(words, 1) end
  return n or default
end
local W = number_of(#ct.devices() > 4 and 4 or 2) -- the CPU is one of them
local REPETITIONS = number_of(on_gpu and 1000 or 4)
if #words == 0 then words = { "gather", "scatter", "mlp" } end
if not on_gpu then ct.device("cpu:" .. W) end
local m = ct.mesh{rank = W}
local config <const> = "hopper 256x128x64" -- sums of K in the order of the ranks' kernels

local function flat(t) return ct.view(t, ct.layout(size(t))) end

local function bits_of(t) return ct.recast(flat(t), ct.u16) end

local function uniform(rows, columns, seed)
  return data.uniform(ct.tensor(bf16, row_major{rows, columns}), seed)
end

-- {====== Kernels that wait for nobody ======

local spoil = ct.kernel("spoil", function(x)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    x[i] = cast(u32(0xffff), x.dtype)
  end
end)

-- noted[0]: how many elements were wrong; then FIELDS of the first ones: set, place, got, wanted.
local note_wrong = ct.kernel("note_wrong", function(got, want, set, noted)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(got), gridDim.x * blockDim.x) do
    if got[i] ~= want[i] then
      local n = cast(ct.atomic_add(noted, 0, 1), ct.i32)
      if n < NOTED then
        noted[1 + FIELDS * n] = set
        noted[2 + FIELDS * n] = cast(i, u32)
        noted[3 + FIELDS * n] = cast(got[i], u32)
        noted[4 + FIELDS * n] = cast(want[i], u32)
      end
    end
  end
end)

local function grid_of(n)
  return { grid = math.min(ct.cdiv(n, 4 * THREADS), on_gpu and 528 or 4), block = THREADS }
end

-- What a rank does beside its launches. want: by set.
local function watch(C, want)
  local noted, launch = zeros(u32, 1 + FIELDS * NOTED), grid_of(size(C))
  local rank = { C = C, want = want, noted = noted, compare = {},
                 spoil = spoil:prepare(launch)(bits_of(C)) }
  for set = 1, SETS do
    rank.compare[set] = note_wrong:prepare(launch)(bits_of(C), bits_of(want[set]), u32(set), noted)
  end
  rank.spoil() -- both kernels are there before a launch waits for other ranks
  rank.compare[1]()
  noted:fill(0)
  return rank
end

-- {====== What is wrong ======

local function value_of(bits) return ("f"):unpack(("I4"):pack(bits << 16)) end

-- Shares of all ranks of one element, and what `got` looks like.
local function describe(case, rank, set, at, got, want)
  local state = case.ranks[rank]
  local width = ct.size(state.C, 1)
  local text = ("  rank %d, set %d, element (%d,%d): %g for %g"):format(rank, set, at // width,
    at % width, value_of(got), value_of(want))
  if not case.share then return text end
  local own, other = {}, {}
  for r = 0, W - 1 do
    own[r + 1] = ("%g"):format(case.share(r, rank, set, at))
    other[r + 1] = ("%g"):format(case.share(r, rank, SETS + 1 - set, at))
  end
  return ("%s; shares %s; of the other set %s"):format(text, table.concat(own, " "),
    table.concat(other, " "))
end

-- Prints the wrong elements of all ranks. Returns how many there were.
local function report(case)
  local n_wrong = 0
  for rank = 0, W - 1 do
    local noted = case.ranks[rank].noted:to "cpu"
    n_wrong = n_wrong + noted[0]
    for i = 0, math.min(noted[0], NOTED) - 1 do
      print(describe(case, rank, noted[1 + FIELDS * i], noted[2 + FIELDS * i],
        noted[3 + FIELDS * i], noted[4 + FIELDS * i]))
    end
  end
  return n_wrong
end

-- {====== Cases ======

local cases = {}

-- The sums that rank r owns of all ranks' D.
local function sums_of(r, D)
  r:barrier()
  local out = zeros(D.dtype, row_major{size(D, 0) // W, size(D, 1)})
  ranks_sums.want(ranks_sums.panels(r, D), r.rank, out)
  r:barrier()
  return out
end

local function share_in(products)
  return function(of, owner, set, at)
    local D = products[of][set]
    return flat(D)[owner * (size(D) // W) + at]
  end
end

function cases.scatter(M, N, K)
  local products = {}
  local ranks = m:run(function(r)
    local A, B, D, want = {}, {}, {}, {}
    for set = 1, SETS do
      A[set], B[set] = uniform(M, K // W, 40 * set + r.rank), uniform(N, K // W, 90 * set + r.rank)
      D[set] = zeros(bf16, row_major{M, N})
      ct.matmul(A[set], B[set], D[set], {config = config})
      want[set] = sums_of(r, D[set])
    end
    products[r.rank] = D
    local C = zeros(bf16, row_major{M // W, N})
    local rank = watch(C, want)
    local spaces = scattering.share(r, scattering.workspace(bf16, M // W, N, W))
    rank.launch = {}
    for set = 1, SETS do
      rank.launch[set], rank.name = scattering.prepare(A[set], B[set], C, r.rank, spaces)
    end
    return rank
  end)
  return { title = ("%dx%dx%d, then sums to owners"):format(M, N, K // W), ranks = ranks,
           share = share_in(products) }
end

function cases.gather(M, N, K)
  local ranks = m:run(function(r)
    local panels, B, want = {}, {}, {}
    for set = 1, SETS do
      local own, A = uniform(M // W, K, 40 * set + r.rank), zeros(bf16, row_major{M, K})
      B[set] = uniform(N // W, K, 90 * set + r.rank)
      want[set], panels[set] = zeros(bf16, row_major{M, N // W}), {}
      local seen = r:peers(own)
      for rank = 0, W - 1 do panels[set][rank + 1] = seen[rank] end
      r:all_gather(flat(own), flat(A))
      ct.matmul(A, B[set], want[set], {config = config})
    end
    local C = zeros(bf16, row_major{M, N // W})
    local rank = watch(C, want)
    rank.launch = {}
    for set = 1, SETS do
      rank.launch[set], rank.name = gathering.prepare(panels[set], r.rank, B[set], C)
    end
    r:barrier()
    return rank
  end)
  return { title = ("rows gathered, then %dx%dx%d"):format(M, N // W, K), ranks = ranks }
end

-- Two layers, of which one launch is a step on all ranks.
function cases.mlp(T, D, H)
  local x, w1 = {}, m:tensor(bf16, row_major{H, D}, "(hidden@rank,depth)")
  local w2 = m:tensor(bf16, row_major{D, H}, "(depth,hidden@rank)")
  local hidden = m:tensor(bf16, row_major{T, H}, "(token,hidden@rank)")
  local y = m:tensor(bf16, row_major{T, D}, "(token@rank,depth)")
  for set = 1, SETS do x[set] = m:tensor(bf16, row_major{T, D}, "(token@rank,depth)") end
  m:run(function(r)
    data.uniform(w1:part(r.rank), 10 + r.rank)
    data.uniform(w2:part(r.rank), 20 + r.rank)
    for set = 1, SETS do data.uniform(x[set]:part(r.rank), 50 + 10 * set + r.rank) end
  end)
  local products = {}
  for rank = 0, W - 1 do products[rank] = {} end
  local wants, hiddens = {}, {}
  for set = 1, SETS do
    ct.matmul(x[set], w1, hidden, {alpha = D ^ -0.5, config = config})
    wants[set], hiddens[set] = {}, {}
    m:run(function(r)
      local own = hidden:part(r.rank)
      local product = zeros(bf16, row_major{T, D})
      ct.matmul(own, w2:part(r.rank), product, {config = config})
      products[r.rank][set], wants[set][r.rank] = product, sums_of(r, product)
      hiddens[set][r.rank] = zeros(bf16, row_major{T, H // W})
      ct.copy(flat(own), flat(hiddens[set][r.rank]))
    end)
  end
  local first = {}
  local ranks = m:run(function(r)
    local function of_rank(list) return { list[1][r.rank], list[2][r.rank] } end
    first[r.rank] = watch(hidden:part(r.rank), of_rank(hiddens))
    return watch(y:part(r.rank), of_rank(wants))
  end)
  local function each(f) for rank = 0, W - 1 do f(rank) end end
  return { title = ("two layers, %d tokens, %d -> %d -> %d"):format(T, D, H, D), ranks = ranks,
    share = share_in(products), before = { title = "  its first layer", ranks = first },
    step = function(set)
      each(function(rank) first[rank].spoil() ranks[rank].spoil() end)
      ct.matmul(x[set], w1, hidden, {alpha = D ^ -0.5, overlap = true})
      ct.matmul(hidden, w2, y, {overlap = true})
      each(function(rank) first[rank].compare[set]() ranks[rank].compare[set]() end)
    end }
end

-- {====== Repetitions ======

local function of_rank(rank, set)
  rank.spoil()
  rank.launch[set]()
  rank.compare[set]()
end

local function once(case, set, turn)
  if case.step then return case.step(set) end
  if not on_gpu then return m:run(function(r) of_rank(case.ranks[r.rank], set) end) end
  for i = 0, W - 1 do of_rank(case.ranks[(i + turn) % W], set) end
end

local any_wrong = false

local function repeat_case(case)
  ct.synchronize()
  local begun, n = os.time(), 0
  for i = 1, REPETITIONS do
    once(case, 1 + i % SETS, i)
    n = i
  end
  ct.synchronize()
  for _, part in ipairs { case.before or case, case.before and case or nil } do
    local n_wrong = report(part)
    any_wrong = any_wrong or n_wrong > 0
    print(("%-44s %-24s %d ranks, %d times: %s"):format(part.title, part.ranks[0].name or "", W, n,
      n_wrong == 0 and "all bits equal" or n_wrong .. " elements are wrong"))
  end
  print(("  %d s"):format(os.time() - begun))
end

-- By word. Tiles of 256 x 128, 128 x 128 and 64 x 64, panels that end inside of tiles, and K so
-- short that the groups of a block are tiles apart.
local shapes = {
  gather = { { 8192, 8192, 8192 }, { 2048, 1280 * W, 1024 }, { 512, 512, 512 },
             { 1000 * W, 264 * W, 520 }, { 8192, 2048 * W, 64 } },
  scatter = { { 8192, 8192, 8192 }, { 2048, 1280, 512 * W }, { 512, 512, 256 * W },
              { 1000 * W, 2056, 264 * W }, { 8192, 4096, 64 * W }, { 2048, 1280, 64 * W } },
  mlp = { { 8192, 8192, 28672 }, { 2048, 2048, 8192 } },
}
if not on_gpu then
  shapes = { gather = { { 64 * W, 64 * W, 128 } }, scatter = { { 64 * W, 136, 64 * W } },
             mlp = { { 64 * W, 64, 64 * W } } }
end

for _, word in ipairs(words) do
  if not cases[word] then
    io.stderr:write(("ranks_stress: '%s' is not one of gather, scatter, mlp\n"):format(word))
    os.exit(1)
  end
end
for _, word in ipairs(words) do
  for _, shape in ipairs(shapes[word]) do
    repeat_case(cases[word](table.unpack(shape)))
    collectgarbage()
  end
end
os.exit(any_wrong and 1 or 0)
