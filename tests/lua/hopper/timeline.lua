-- timeline: what waits for what, in the model's cycles; roles; errors.
local function fails(...)
  local _, why = pcall(...)
  return (why:gsub("^.-:%d+: ", ""))
end

local boxes = kernel("boxes", function(A, y, n)
  local s, full, empty = shared(f32, row_major{ 2, 32, 32 }), mbarrier(2, 1), mbarrier(2, 1)
  sync_threads()
  local g = tile(tma_tensor(A), { 1, 32, 32 }, { _, 0, 0 })
  if threadIdx.x < 32 then
    if threadIdx.x == 0 then
      local state = pipeline_state(2, { parity = 1 })
      for i in range(n) do
        empty[state.slot]:wait(state.parity)
        full[state.slot]:arrive_expect_tx(4096)
        tma_load(g(_, _, _, i), tile(s, { 1, 32, 32 }, { state.slot, 0, 0 }), full[state.slot])
        state:advance()
      end
    end
  else
    local state, sum = pipeline_state(2), 0.0
    for i in range(n) do
      full[state.slot]:wait(state.parity)
      sum = sum + s[{ state.slot, 0, threadIdx.x % 32 }]
      named_barrier(1, 64):sync()
      if threadIdx.x == 32 then empty[state.slot]:arrive() end
      state:advance()
    end
    y[threadIdx.x] = sum
  end
end)
local A, y = rand(f32, row_major { 4, 32, 32 }), zeros(f32, 96)
local launch = boxes:prepare { grid = 1, block = 96 } (A, y, 4)
local t = timeline(launch, { model = { copy = 1000, copy_bytes = 4 } })

local function waits(row)
  local list = {}
  for _, bar in ipairs(row.bars) do
    if bar.kind == "wait" then list[#list + 1] = bar.what end
  end
  return table.concat(list, " ")
end
for _, row in ipairs(t.rows) do print(row.name, row.warps, waits(row)) end
-- expect: producer	warp 0	sync_threads empty[0] empty[1]
-- expect: warps 1-2	warps 1-2	sync_threads full[0] named barrier 1 full[1] named barrier 1 full[0] named barrier 1 full[1] named barrier 1
print(y[32]) -- the launch was on copies
-- expect: 0.0

-- A copy takes its bytes' time and a latency; the second one waits for the first on the way.
local first, second = t.copies[1][1], t.copies[2][1]
print(first.what, first.to - first.from, second.to - first.to, first.bytes)
-- expect: full[0]	2024.0	1024.0	4096
-- Who waits for it goes on when it is there.
for _, bar in ipairs(t.rows[2].bars) do
  if bar.what == "full[0]" then
    print(bar.to == first.to, bar.first, bar.last)
    break
  end
end
-- expect: true	24	24

print((tostring(t):gsub("\n.*", "")))
-- expect: block (0,0,0): 5260 cycles of the model
-- A bar's tip has its lines, with their text.
print(t:svg():match("waits for full%[1%], line 24, cycles [^<]*"):gsub("cycles [%d to]+\n", "|"))
-- expect: waits for full[1], line 24, |24: full[state.slot]:wait(state.parity)	1
-- Shares are of all cycles, and the text and the picture say so. A role that ends early has less.
local function sum_of(shares)
  local sum = 0
  for share in shares:gmatch "(%d+) %%" do sum = sum + share end
  return sum
end
local shares = t:shares()
print(sum_of(shares[1]), sum_of(shares[2]), shares[1]:match "^[^:]*")
-- expect: 60	100	producer (warp 0)
local note = "100 % is all 5260 cycles of the model: a role that ends before has less, "
  .. "and each share is rounded"
print(shares[3] == note, tostring(t):find(note, 1, true) ~= nil, t:svg():find(note, 1, true) ~= nil)
-- expect: true	true	true
-- They are broken into lines that a narrow picture has room for.
local function longest(svg)
  local most = 0
  for text in svg:gmatch ">([^<>]+)</text>" do most = math.max(most, utf8.len(text)) end
  return most
end
print(longest(t:svg { width = 300 }) * 0.58 * 12 <= 300 + 150, longest(t:svg()) > 80)
-- expect: true	true
-- A window's picture fills it, and its text is never smaller than 12 pixels.
local function smallest(svg)
  local least = math.huge
  for size in svg:gmatch 'font%-size="(%d+)"' do least = math.min(least, tonumber(size)) end
  return least
end
print(smallest(t:svg()), t:svg():match 'style="([^"]*)"', t:svg{ width = 600 }:match "style=")
-- expect: 12	min-width:1182px;width:100%;height:auto	nil
print(fails(timeline, launch, { block = { 1 } }))
-- expect: timeline: block (1,0,0) is outside the grid (1,1,1)
print(fails(timeline, boxes))
-- expect: timeline: argument 1 is not a launch; write timeline(launch) of launch = k:prepare{...}(A, B, C), or timeline(k{grid = ..., block = ...}, {}, A, B, C)
print((fails(timeline, boxes{grid = 1, block = 64}, zeros(f32, 8)):gsub(";.*", "")))
-- expect: timeline: the options are a tensor
print(fails(timeline, launch, { model = { copies = 1 } }))
-- expect: timeline: model.copies is 1; the model has positive numbers barrier, copy, copy_bytes, flag, global, instruction, macs, mma, shared and store
print(fails(timeline, launch, { blocks = 1 }))
-- expect: timeline: option 'blocks' is unknown; did you mean 'block'?

-- The other block of a cluster is played, too.
local pair = kernel("pair", function(x)
  local bar = mbarrier(1, 1)
  sync_cluster()
  if cluster_rank() == 0 then
    x[threadIdx.x] = 1
    if threadIdx.x == 0 then bar[0]:arrive(1) end
  else
    bar[0]:wait(0)
    x[threadIdx.x + 32] = 2
  end
  sync_cluster()
end)
local of_pair = pair:prepare { grid = 2, block = 32, cluster = { 2, 1, 1 } } (zeros(f32, 64))
for block = 0, 1 do print(waits(timeline(of_pair, { block = block }).rows[1])) end
-- expect: cluster barrier cluster barrier
-- expect: cluster barrier bar[0] cluster barrier
-- needs sm_90
