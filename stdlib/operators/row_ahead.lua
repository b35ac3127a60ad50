-- row_ahead.lua: asks the second cache for rows before blocks read them, so that memory has work
-- while blocks reduce and store. It changes no result.
local internal = ...
local M = {}

local function nothing() end -- what the CPU engine does

-- Asks for n adjacent elements of a row, from the one at `first` on.
local function ask(t, row, first, n)
  internal.kernel.ptx("cp.async.bulk.prefetch.L2.global [$t], $n;", nil,
    { t = { t(row, _), first }, n = cast(n * t.dtype.bytes, u32) }, nothing)
end

local function ask_inputs(p, given, row, first, n)
  for _, input in ipairs(p.inputs) do
    if input.kind == "elements" then ask(given[input.name], row, first, n) end
  end
end

--- Asks for the row that comes p.ahead rows after that of the block. PTX wants a multiple of 16
--- bytes, so what is beyond the last 16 elements is not asked for.
function M.row(p, given, row, n_rows)
  if threadIdx.x == 0 and row + p.ahead < n_rows then
    ask_inputs(p, given, row + p.ahead, 0, p.columns // 16 * 16)
  end
end

--- Asks for p.ahead vectors of each thread: those that its slots get first while the block's row is
--- stored. row_at is as in row_slots.lua.
function M.slots(p, thread, given, row_at)
  local n, held = p.lanes * p.width, math.max(p.slots, p.deep)
  if threadIdx.x == 0 then
    for at = held, held + p.ahead - 1 do
      local row, is_row = row_at(at // p.deep)
      local function first() return (thread.part * p.deep + at % p.deep) * n end
      if is_row and (p.is_whole or first() < p.columns) then
        ask_inputs(p, given, row, first(), p.is_whole and n or min(n, p.columns - first()))
      end
    end
  end
end

return M
