-- The picture of a launch: what its page says that threads access, held against `trace`, which
-- finds out in another way, and against layouts.
-- needs sm_90
local json = require "cuttle.json"
local launch_picture = require "cuttle.launch_picture"

-- {====== What a page's data say ======

local function expanded(steps)
  local list = { steps[1] }
  for i = 2, #steps, 2 do
    for _ = 1, steps[i + 1] do list[#list + 1] = list[#list] + steps[i] end
  end
  return list
end

-- visit(site, step, thread, offset) of each access of a block.
local function each_access(data, block, visit)
  local row = data.blocks[block + 1]
  for i, number in ipairs(data.programs[row[1] + 1]) do
    local shape, base = data.shapes[number + 1], row[i + 1]
    local threads, offsets = expanded(data.vecs[shape[2] + 1]), expanded(data.vecs[shape[3] + 1])
    local elems = expanded(data.vecs[shape[4] + 1])
    for r = 5, #shape, 5 do
      local step, step_by, n, add, add_by = table.unpack(shape, r, r + 4)
      for turn = 0, n - 1 do
        for k, thread in ipairs(threads) do
          for _, e in ipairs(elems) do
            visit(data.sites[shape[1] + 1], step + turn * step_by, thread,
              base + add + turn * add_by + offsets[k] + e)
          end
        end
      end
    end
  end
end

-- The set of "line kind tensor thread offset" of a block.
local function accesses_of(data, block)
  local set = {}
  each_access(data, block, function(site, _, thread, offset)
    for kind in site[3]:gmatch "[rw]" do
      set[("%d %s %s %d %d"):format(site[1], kind == "r" and "reads" or "writes",
        data.tensors[site[2] + 1].name, thread, offset)] = true
    end
  end)
  return set
end

-- {====== Held against trace ======

local seed = 7
local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n
end

-- How many rows of the trace of some elements the page has; it must have all.
local function check_traced(launch, data, name, shape)
  local n, known = 0, {}
  for _ = 1, 4 do
    local element = {}
    for i, extent in ipairs(shape) do element[i] = random(extent) end
    for _, row in ipairs(trace(launch, { [name] = element }).rows) do
      if row.kind == "reads" or row.kind == "writes" then
        known[row.block] = known[row.block] or accesses_of(data, row.block)
        local key = ("%d %s %s %d %d"):format(row.line, row.kind, row.tensor, row.thread,
          row.offset)
        assert(known[row.block][key], key)
        n = n + 1
      end
    end
  end
  return n
end

local BM, BN, BK = 16, 16, 8
local function product(swizzled)
  local s_layout = swizzled and L "Sw<1,2,2> o 0 o (16,8):(8,1)" or row_major { BM, BK }
  return kernel("product", function(A, B, C)
    local sA, sB = shared(f32, s_layout), shared(f32, layout { BN, BK })
    local gA, gB = tile(A, { BM, BK }, { blockIdx.y, _ }), tile(B, { BN, BK }, { blockIdx.x, _ })
    local gC = tile(C, { BM, BN }, { blockIdx.y, blockIdx.x })
    local tAgA = parallelize(gA, row_major { 8, 8 }, threadIdx.x)
    local tAsA = parallelize(sA, row_major { 8, 8 }, threadIdx.x)
    local tBgB = parallelize(gB, layout { 8, 8 }, threadIdx.x)
    local tBsB = parallelize(sB, layout { 8, 8 }, threadIdx.x)
    local tC = row_major { 8, 8 }
    local tCsA = parallelize(sA, tC, threadIdx.x, { 1, _ })
    local tCsB = parallelize(sB, tC, threadIdx.x, { _, 1 })
    local tCgC = parallelize(gC, tC, threadIdx.x)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)
    for k in axes(tAgA, 2) do
      copy(tAgA(_, _, k), tAsA)
      copy(tBgB(_, _, k), tBsB)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(tCrC, tCgC)
  end)
end

local M, N, K = 48, 32, 40
local A, B = rand(f32, row_major { M, K }), rand(f32, { N, K })
for _, swizzled in ipairs { false, true } do
  local launch = product(swizzled):prepare { grid = { N // BN, M // BM }, block = 64 }(A, B,
    zeros(f32, row_major { M, N }))
  local data = launch_picture.data(launch)
  print(check_traced(launch, data, "C", { M, N }), #data.blocks, #data.programs)
end
-- expect: 452	6	1
-- expect: 452	6	1

-- {====== Held against layouts, step by step ======

local launch = product(false):prepare { grid = { N // BN, M // BM }, block = 64 }(A, B,
  zeros(f32, row_major { M, N }))
local data = launch_picture.data(launch)
print(data.title, data.loop, #data.steps, data.steps[1], data.steps[2], data.steps[7])
-- expect: product{grid = {2, 3}, block = 64}	k	7	1	2	11

-- Thread 21 of block (1,2) reads of A at turn k what parallelize says.
local part, first = parallelize("(16,8):(40,1)", row_major { 8, 8 }, 21)
local seen, n_wrong = {}, 0
each_access(data, 5, function(site, step, thread, offset)
  if data.tensors[site[2] + 1].name == "A" and thread == 21 then
    seen[step] = (seen[step] or 0) + 1
    local k, is_mine = step - 1, false -- steps count from 0: the first is before the loop
    for _, at in ipairs(part:values()) do
      is_mine = is_mine or offset == 2 * 16 * K + k * BK + first + at
    end
    n_wrong = n_wrong + (is_mine and 0 or 1)
  end
end)
print(#seen, seen[1], n_wrong) -- expect: 5	2	0

-- {====== Names, tensors, sizes ======

local by_line = {}
for _, site in ipairs(data.sites) do
  local names = table.concat(site[4], " > ")
  by_line[#by_line + 1] = ("%s %s"):format(site[3], names)
end
table.sort(by_line)
print(table.concat(by_line, "; "))
-- expect: r A > gA > tAgA; r B > gB > tBgB; r sA > tCsA; r sB > tCsB; r tCrC; rw tCrC; w C > gC > tCgC; w sA > tAsA; w sB > tBsB; w tCrC
local tensors = {}
for i, t in ipairs(data.tensors) do tensors[i] = ("%s %s %s"):format(t.name, t.space, t.text) end
print(table.concat(tensors, "; "))
-- expect: A global (48,40):(40,1); B global (32,40):(1,32); C global (48,32):(32,1); sA shared (16,8):(8,1); sB shared (16,8):(1,16); tCrC register (2,2):(1,2)

-- What is only computed from a tensor is no part of it.
local script = {
  "local gA, rows = tile(A, {4, 4}, {0, _}), size(A, 0) -- of A",
  "local cut = gA(_, _, 1)",
  "local mine, n = thr:partition_A(cut), f(cut)",
  "  copy(mine, other[rows + n])",
}
local chain = require("cuttle.launch_names").of(script, 1, 4, { "A", "other" })
print(table.concat(chain(4, "A"), " > "), table.concat(chain(4, "other"), " > "))
-- expect: A > gA > cut > mine	other

-- The page holds these data, as JSON, and is the one that playgrounds know.
local page = html(launch)
print(page:find("<title>product{grid = {2, 3}, block = 64}</title>", 1, true) ~= nil) -- expect: true
print(page:find('id="data">' .. json.encode(data), 1, true) ~= nil) -- expect: true
print(page:find("@%u+@"), page:find("https?:")) -- expect: nil	nil

-- Shapes are shared: 64 times as many blocks are little more.
local function size_of(blocks)
  local side = 16 * blocks
  local big = product(false):prepare { grid = { blocks, blocks }, block = 64 }(
    zeros(f32, row_major { side, K }), zeros(f32, { side, K }),
    zeros(f32, row_major { side, side }))
  return #json.encode(launch_picture.data(big))
end
print(size_of(16) - size_of(2) < 16 * 1024) -- expect: true

-- {====== Steps and roles ======

-- Without a loop that waits, turns of the outermost loop are steps.
local row_sums = kernel("row_sums", function(x, y)
  local s = x[{ threadIdx.x, 0 }]
  for j = 1, x.shape[2] - 1 do s = s + x[{ threadIdx.x, j }] end
  y[threadIdx.x] = s
end)
local sums = launch_picture.data(row_sums:prepare { grid = 1, block = 8 }(
  ones(f32, row_major { 8, 4 }), zeros(f32, 8)))
print(#sums.steps, sums.loop) -- expect: 5	j

-- Warps that do other things have other roles, and steps of their own loops in common.
local roles = kernel("roles", function(A, C)
  local s, full, empty = shared(f32, row_major { 32, 32 }), mbarrier(1, 1), mbarrier(1, 32)
  sync_threads()
  if threadIdx.x < 32 then
    if threadIdx.x == 0 then
      for k in range(size(A, 1) // 32) do
        if k > 0 then empty[0]:wait((k - 1) % 2) end
        full[0]:arrive_expect_tx(32 * 32 * 4)
        tma_load(tile(tma_tensor(A), { 32, 32 }, { 0, k }), s, full[0])
      end
    end
  else
    for k in range(size(A, 1) // 32) do
      full[0]:wait(k % 2)
      C[{ threadIdx.x - 32, k }] = s[{ threadIdx.x - 32, 5 }]
      empty[0]:arrive()
    end
  end
end)
local staged = launch_picture.data(roles:prepare { grid = 1, block = 64 }(
  rand(f32, row_major { 32, 96 }), zeros(f32, { 32, 3 })))
print(#staged.steps, #staged.roles, staged.roles[1][3]) -- expect: 3	2	TMA
local read = {}
each_access(staged, 0, function(site, step, thread, offset)
  if site[3] == "rb" then
    assert(thread == 0 and offset % 96 // 32 == step, "a box of A at its step")
    read[step] = (read[step] or 0) + 1
  end
end)
print(read[0], read[1], read[2]) -- expect: 1024	1024	1024

-- Tensors of a list have no layout that the launch says: they are not drawn, others are.
local listed = launch_picture.data(kernel("listed", function(list, y)
  local x = list[blockIdx.x + 1]
  y[{ blockIdx.x, threadIdx.x }] = x[threadIdx.x]
end):prepare { grid = 2, block = 8 }({ ones(f32, 8), ones(f32, 8) },
  zeros(f32, row_major { 2, 8 })))
print(#listed.tensors, listed.tensors[1].name) -- expect: 1	y

-- {====== A still ======

-- What svg draws of one thread: as much area as it has elements. A cell of A is 240/48 = 5 wide,
-- one of B 6, one of sA and sB 12.
local cells = { A = 25, B = 36, C = 25, sA = 144, sB = 144 }
local fills = { r = "#1F6FE0", w = "#D9541E", rw = "#7A3FC4" }

local function wanted_area(step, thread)
  local want, kinds = { r = 0, w = 0, rw = 0 }, {}
  each_access(data, 5, function(site, at, who, offset)
    local name = data.tensors[site[2] + 1].name
    if at == step and who == thread and cells[name] then
      local key, kind = name .. " " .. offset, site[3]
      kinds[key] = (kinds[key] == nil or kinds[key] == kind) and kind or "rw"
    end
  end)
  for key, kind in pairs(kinds) do want[kind] = want[kind] + cells[key:match "%a+"] end
  return want
end

-- Both areas of a kind, drawn and wanted; the legend has a square of 12.
local function areas(step, thread, kind)
  local still, area = svg(launch, { block = 5, thread = thread, step = step }), -144
  for w, h, fill in still:gmatch 'width="([%d.]+)" height="([%d.]+)" fill="(#%x+)"' do
    area = area + (fill == fills[kind] and tonumber(w) * tonumber(h) or 0)
  end
  return area, wanted_area(step, thread)[kind]
end
print(areas(2, 21, "r")) -- expect: 4154	4154
print(areas(2, 21, "rw")) -- expect: 576	576
print(areas(6, 21, "w")) -- expect: 100	100
local still = svg(launch, { block = 5, thread = 21, step = 2 })
print(still:match "<title>(.-)</title>")
-- expect: product{grid = {2, 3}, block = 64}: block 5, thread 21, step 2 of 7

-- {====== Mistakes ======

local function message(...)
  return select(2, pcall(html, ...)):match("^tests/lua/picture/launch%.lua:%d+: (.*)$")
end
print(message(row_sums { grid = 1, block = 8 }))
-- expect: html: a configuration k{...} has no arguments; draw html(k:prepare{...}(A, B, C))
for _, options in ipairs { { step = 7 }, { thread = -1 }, { color = "bank" } } do
  print((select(2, pcall(svg, launch, options)):match "svg: (.*)"))
end
-- expect: the option step is 7; a number from 0 to 6 was expected
-- expect: the option thread is -1; a number from 0 to 63 was expected
-- expect: option 'color' is unknown; expected block, step or thread
