-- texts.lua: candidates of tasks as texts. A task is a reference as docs/judge.md describes it, with
--   right     the text of a right candidate
--   wrong, race, outside    of one that is wrong at some size, has a race, accesses what is outside:
--             each {FROM, TO, ...}, edits of the right one
local M = {}

-- The text with each FROM, which must be there, replaced by TO.
function M.edited(text, edits)
  for i = 1, #edits, 2 do
    local at, last = text:find(edits[i], 1, true)
    assert(at, ("no '%s' in %s"):format(edits[i], text))
    while at do
      text = text:sub(1, at - 1) .. edits[i + 1] .. text:sub(last + 1)
      at, last = text:find(edits[i], at + #edits[i + 1], true)
    end
  end
  return text
end

-- One thread for each of the elements of `out`, numbered i.
function M.each(args, out, body)
  return ([[
local k = kernel("each", function(ARGS)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(OUT) then
    BODY
  end
end)
return function(ARGS) k{grid = cdiv(size(OUT), 128), block = 128}(ARGS) end
]]):gsub("%u%u%u%u?", { ARGS = args, OUT = out, BODY = body })
end

-- Faults of such a kernel: the last elements are left out; all threads write one element, too; one
-- thread goes too far.
function M.each_faults(task, out)
  local racing = task.outputs[#task.outputs][1]
  task.wrong = { ("i < size(%s)"):format(out), ("i < size(%s) // 2 * 2"):format(out) }
  task.race = { ("i < size(%s) then"):format(out),
    ("i < size(%s) then %s[0] = cast(i, %s.dtype)"):format(out, racing, racing) }
  task.outside = { ("i < size(%s)"):format(out), ("i <= size(%s)"):format(out) }
  return task
end

-- One thread for each (i, j) of `out`.
function M.pairs(args, out, body)
  return ([[
local k = kernel("pairs", function(ARGS)
  local j = blockIdx.x * 32 + threadIdx.x
  local i = blockIdx.y * 4 + threadIdx.y
  if i < size(OUT, 0) and j < size(OUT, 1) then
    BODY
  end
end)
return function(ARGS)
  k{grid = {cdiv(size(OUT, 1), 32), cdiv(size(OUT, 0), 4)}, block = {32, 4}}(ARGS)
end
]]):gsub("%u%u%u%u?", { ARGS = args, OUT = out, BODY = body })
end

function M.pairs_faults(task, out)
  task.wrong = { ("j < size(%s, 1)"):format(out), ("j < size(%s, 1) // 2 * 2"):format(out) }
  local racing = task.outputs[#task.outputs][1]
  task.race = { ("j < size(%s, 1) then"):format(out),
    ("j < size(%s, 1) then %s[{0, 0}] = cast(i + j, %s.dtype)"):format(out, racing, racing) }
  task.outside = { ("i < size(%s, 0) and"):format(out), ("i <= size(%s, 0) and"):format(out) }
  return task
end

-- One block for each row of x, whose length is n.
function M.rows(args, body)
  return ([[
local k = kernel("rows", function(ARGS)
  local row, n = blockIdx.x, size(x, 1)
  BODY
end)
return function(ARGS) k{grid = size(x, 0), block = 64}(ARGS) end
]]):gsub("%u%u%u%u?", { ARGS = args, BODY = body })
end

-- `write`: how the result is written, at j or by thread 0.
function M.rows_faults(task, race)
  task.wrong = { "n = blockIdx.x, size(x, 1)", "n = blockIdx.x, size(x, 1) // 3 * 3" }
  task.race = race
  task.outside = task.outside or { "n - 1, blockDim.x", "n, blockDim.x" }
  return task
end

return M
