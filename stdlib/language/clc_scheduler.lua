-- clc_scheduler.lua: blocks that take the work of blocks that have not begun (cluster launch
-- control): a ring of responses in shared memory, one thread of each block that asks, and threads
-- that read. A response is read once by each reader and then given back to the first block of the
-- cluster, which asks for all its blocks.
local internal = ...
local option_names = require "cuttle.option_names"
local tiles = require "cuttle.tiles"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name

local WORDS <const>, BYTES <const> = 2, 16      -- of a response
local MOST_STAGES <const>, MOST_READERS <const> = 8, 1024

-- {====== What the caller gives ======

local fields = { stages = true, readers = true }

local function check_count(name, n, most, what)
  if math.type(n) ~= "integer" or n < 1 or n > most then
    fail("clc_scheduler", "%s is %s; an integer from 1 to %d was expected, %s", name, tostring(n),
      most, what)
  end
  return n
end

local function complete(p)
  if type(p) ~= "table" then
    fail("clc_scheduler", "argument 1 is of type %s; a table {readers = ...} was expected",
      type_name(p))
  end
  for key in pairs(p) do option_names.check_key("clc_scheduler", key, fields, "field") end
  return check_count("stages", p.stages or 1, MOST_STAGES, "how many responses may be under way"),
    check_count("readers", p.readers, MOST_READERS, "the threads of a block that call advance")
end

-- {====== Work ======

local Work, Scheduler = {}, {}
local work_meta = tiles.new_type("work of a block", Work, { "x", "y", "z", "is_valid" })
local scheduler_meta = tiles.new_type("clc_scheduler", Scheduler, { "stages", "readers" })

--- Takes the next response: waits for it, reads it and gives it back.
function Work:advance()
  local of, slot = self.of, self.at.slot
  local response = of.responses(_, slot)
  of.full[slot]:wait(self.at.parity)
  self.is_valid = clc_is_canceled(response)
  if self.is_valid then
    local x, y, z = clc_get_first_ctaid(response)
    self.x, self.y, self.z = x + self.own[1], y + self.own[2], z + self.own[3]
  end
  fence_proxy_async() -- the next response is written by another path
  if cluster_size() > 1 then of.empty[slot]:arrive(0) else of.empty[slot]:arrive() end
  self.at:advance()
end

-- Where a block is in its cluster.
local function own_place()
  local cx, cy, cz = internal.kernel.cluster_shape()
  return { blockIdx.x % cx, blockIdx.y % cy, blockIdx.z % cz }
end

--- The block's own work, which it begins with. That it is valid must not be known while the kernel
--- is traced, or the loop's first turn would be written apart.
function Scheduler:work()
  local i = blockIdx
  return setmetatable({ of = self, at = pipeline_state(self.stages), own = own_place(),
                        x = i32(i.x), y = i32(i.y), z = i32(i.z), is_valid = i.x < gridDim.x },
    work_meta)
end

--- Asks until there is no work: by one thread of each block.
function Scheduler:fetch()
  local work, asks = self:work(), pipeline_state(self.stages, { parity = 1 })
  local is_first = cluster_rank() == 0
  while work.is_valid do
    local slot = asks.slot
    if is_first then self.empty[slot]:wait(asks.parity) end
    self.full[slot]:arrive_expect_tx(BYTES)
    if is_first then
      clc_try_cancel(self.responses(_, slot), self.full[slot], { multicast = true })
    end
    asks:advance()
    work:advance()
  end
end

--- clc_scheduler{readers =[, stages =]}
function M.clc_scheduler(p)
  local stages, readers = complete(p)
  local arrivals = (readers + 1) * cluster_size() -- and the thread that asks
  return setmetatable({ stages = stages, readers = readers,
                        responses = shared(u64, { WORDS, stages }), full = mbarrier(stages, 1),
                        empty = mbarrier(stages, arrivals) }, scheduler_meta)
end

return M
