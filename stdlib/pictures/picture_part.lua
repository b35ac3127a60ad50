-- picture_part.lua: pictures of a thread's part: the tile that it is of, the owners of each
-- element, and which cells are that thread's.
local color = require "cuttle.picture_color"
local owning = require "cuttle.owners"
local M = {}

-- Owners {thread, value} of each element of a partition's tile, by number.
local function owners_of(tile, threads, projection)
  local owners = {}
  for index, list in pairs(owning.partition(shape(tile), threads, projection).who) do
    for i, owner in ipairs(list) do list[i] = { thread = owner[1], value = owner[2] } end
    owners[index] = list
  end
  return owners
end

-- Of what parallelize made: op.operands are {tile, threads, thread[, projection]}.
function M.of_partition(tools, part, op, how)
  local tile, threads = layout(op.operands[1]), layout(op.operands[2])
  local thread, projection = op.operands[3], op.operands[4]
  how.thread = how.thread or math.tointeger(thread)
  local title = ("%s among the threads %s%s"):format(tile, threads,
    projection and ", projection " .. tostring(projection) or "")
  local picture = tools.new_picture("tv", title, part)
  tools.check_count(tile, how)
  local owners = owners_of(tile, threads, projection)
  color.each_cell(tools.add_panels(picture, tile, "result", how), function(cell)
    tools.own(cell, owners[cell.linear], how)
    if projection and cell.mark == "doubled" then cell.mark = nil end -- they share it by design
  end)
  if not projection then tools.note_coverage(picture, owners, size(tile), 0) end
  tools.color_threads(picture, size(threads), how)
  return picture
end

-- Whether the thread is among the owners {thread, value}.
function M.has(owners, thread)
  for _, owner in ipairs(owners) do
    if owner.thread == thread then return true end
  end
  return nil
end

-- Notes on the model whose part is marked; `fail` raises a message.
function M.mark(picture, how, fail)
  local n = picture.n_threads
  if not n then
    fail(how.op, "the option thread is %d, but no threads share %s", how.thread, picture.title)
  elseif how.thread >= n then
    fail(how.op, "there is no thread %d; expected 0 to %d", how.thread, n - 1)
  end
  picture.thread, picture.title = how.thread, ("%s, thread %d"):format(picture.title, how.thread)
end

return M
