-- peers.lua: peer_tensor(x, rank): the part of a sharded tensor on another rank, for kernels of
-- this one.
local internal = ...
local ipc = require "cuttle.ipc"
local sharded = require "cuttle.sharded"
local shardings = require "cuttle.sharding"
local tiles = require "cuttle.tiles"
local M = {}

local function check_rank(x, rank)
  local number = math.tointeger(rank)
  if not number or number < 0 or number >= x.mesh.n then
    tiles.fail("peer_tensor", "argument 2 is %s; a rank of %s was expected, 0 to %d",
      tostring(rank), x.mesh, x.mesh.n - 1)
  end
  return number
end

-- The part of a rank in another process. The first time all ranks exchange what is needed for it.
local function open(x, rank)
  local own = x.engine.ranks[1]
  x.tickets = x.tickets or ipc.exchange(x.engine, { rank = own, group = x.mesh:group(own),
    place = internal.host.script_place(), where = "all axes" }, x.rows[own])
  local row <close> = ipc.open(x.tickets[rank], x.rows[own], rank, "peer_tensor")
  return internal.mesh.view(row, 0, shardings.part_view(x.sharding, rank))
end

local function make(x, rank)
  return x.rows[rank] and internal.mesh.peer(x:part(rank)) or open(x, rank)
end

--- peer_tensor(x, rank): the rank's own part is an ordinary tensor.
function M.peer_tensor(x, rank)
  sharded.check(x, "peer_tensor")
  rank = check_rank(x, rank)
  local own = internal.launch.rank()
  if rank == own then return x:part(rank) end
  if not own and x.rows[rank] then return make(x, rank) end
  x.peers = x.peers or {}
  local of_own = x.peers[own or -1] or {}
  x.peers[own or -1] = of_own
  of_own[rank] = of_own[rank] or make(x, rank)
  return of_own[rank]
end

return M
