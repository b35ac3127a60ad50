-- attention_decode_holes.lua: lists of chosen tokens with holes, negative numbers in a block_table
-- of pages of one key. A softmax is the same in any order of keys, so a kernel before the others
-- closes the gaps: it writes a list's other numbers one after the other, and how many they are.
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local M = {}

local THREADS <const> = 256

-- A block has a list. Each thread has adjacent numbers of it, so that their order stays.
local kernel_of = memo.by_arguments(function()
  return kernel("attention_decode_holes", function(pages, lengths, to, counts)
    local b = blockIdx.x
    local n = clamp(lengths[b], 0, size(pages, 0))
    local own = cdiv(n, THREADS)
    local first = min(threadIdx.x * own, n)
    local last = min(first + own, n)
    local found = i32(0)
    for i in range(first, last) do found = found + where(pages[{ i, b }] >= 0, 1, 0) end
    local at, all = block_scan(found, "add", { exclusive = true })
    for i in range(first, last) do
      local page = pages[{ i, b }]
      if page >= 0 then
        to[{ at, b }] = page
        at = at + 1
      end
    end
    if threadIdx.x == 0 then counts[b] = all end
  end)
end)

--- Its launch. The problem has lists without holes then, and their lengths.
function M.step(p)
  local pages, lengths = p.table, p.lengths
  p.table = on_device.new(p.device, i32, layout({ size(pages, 0), p.batches }))
  p.lengths = on_device.new(p.device, i32, layout({ p.batches }))
  return { kernel = kernel_of(),
           launch = { grid = p.batches, block = THREADS, stream = p.stream },
           args = table.pack(pages, lengths, p.table, p.lengths) }
end

return M
