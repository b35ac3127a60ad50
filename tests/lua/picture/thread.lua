-- The part of one thread in a picture: the whole tile with its owners, that thread's cells marked.
local picture = require "cuttle.picture"

-- {====== Law: what is marked is the thread's part ======

local function sorted_text(list)
  table.sort(list)
  return table.concat(list, " ")
end

local function marked(model)
  local offsets = {}
  for _, panel in ipairs(model.panels) do
    for _, cell in ipairs(panel.cells) do
      offsets[#offsets + 1] = cell.mine and cell.offset or nil
    end
  end
  return sorted_text(offsets)
end

local function check_partition(tile, threads, projection)
  for thread = 0, size(layout(threads)) - 1 do
    local part, first = parallelize(tile, threads, thread, projection)
    local offsets = {}
    for i, offset in ipairs(part:values()) do offsets[i] = offset + first end
    local model = picture.of(part)
    assert(marked(model) == sorted_text(offsets) and #offsets > 0)
    assert(#model.panels[1].cells == size(layout(tile)) and model.thread == thread)
  end
end
check_partition("(16,16)", row_major { 4, 4 })
check_partition("(16,16):(16,1)", row_major { 4, 4 })
check_partition("((2,4),8):((1,16),2)", "(4,2)")
check_partition("(6,8):(9,1)", row_major { 2, 4 })
check_partition("(8,8)", row_major { 2, 4 }, { 1, _ })

-- The cells that a slice marks are those of its thread in the thread-value layouts.
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", { 2, 2 })
local n_checked = 0
for _, thread in ipairs { 0, 37, 127 } do
  local model = picture.of(mma:get_slice(thread))
  for i, letter in ipairs { "A", "B", "C" } do
    local tv, own = mma["tv_layout_" .. letter](mma), {}
    for value = 0, size(tv, 1) - 1 do own[tv(thread, value)] = true end
    for _, cell in ipairs(model.panels[i].cells) do
      assert((cell.mine or false) == (own[cell.linear] or false))
      n_checked = n_checked + (cell.mine and 1 or 0)
    end
  end
end
print(n_checked) -- expect: 48

-- All threads own operands in shared memory; a number of a thread may be said of any picture of
-- owners.
local group = picture.of(atom "SM90_64x8x16_F32BF16BF16_SS", { thread = 3, max_cells = 8 })
print(group.panels[2].cells[1].by_all, group.panels[2].cells[1].mine) -- expect: 0	true
print(picture.of((tv_layout("(4,2):(2,1)", "(2,2):(2,1)")), { thread = 6 }).title)
-- expect: ((2,4),(2,2)):((16,2),(8,1)), tile (8,4), thread 6

-- {====== Drawn ======

show(parallelize("(4,4)", row_major { 2, 2 }, 1))
-- expect: (4,4):(1,4) among the threads (2,2):(2,1), thread 1
-- expect:          0       1       2       3
-- expect:   ┌────────────────────────────────┐
-- expect: 0 │   T0V0  [T1V0]    T0V2  [T1V2] │
-- expect: 1 │   T2V0    T3V0    T2V2    T3V2 │
-- expect: 2 │   T0V1  [T1V1]    T0V3  [T1V3] │
-- expect: 3 │   T2V1    T3V1    T2V3    T3V3 │
-- expect:   └────────────────────────────────┘
print(picture.of((parallelize("(4,4)", row_major { 2, 2 }, 1)), { operands = false }).title)
-- expect: (2,2):(2,8)

local drawing = svg(mma:get_slice(37))
local bold = select(2, drawing:gsub('font%-weight="bold"[^>]*>T', ""))
print(bold) -- expect: 16
print(html(parallelize("(16,16)", row_major { 4, 4 }, 5)):match('"thread":(%d+),')) -- expect: 5
print(html("(4,4)"):match('"thread":%d')) -- expect: nil

for _, bad in ipairs { { mma, 128 }, { mma, -1 }, { "(4,4)", 0 } } do
  print(select(2, pcall(svg, bad[1], { thread = bad[2] })):match("svg: (.*)"))
end
-- expect: there is no thread 128; expected 0 to 127
-- expect: thread is -1; an integer from 0 on was expected
-- expect: the option thread is 0, but no threads share (4,4):(1,4)
