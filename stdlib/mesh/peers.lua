-- peers.lua: peer(x, rank): the part of a sharded tensor on another rank, for kernels of this one.
local internal = ...
local sharded = require "cuttle.sharded"
local tiles = require "cuttle.tiles"
local M = {}

local function check_rank(x, rank)
  local number = math.tointeger(rank)
  if not number or number < 0 or number >= x.mesh.n then
    tiles.fail("peer", "argument 2 is %s; a rank of %s was expected, 0 to %d", tostring(rank),
      x.mesh, x.mesh.n - 1)
  elseif not x.rows[number] then
    tiles.fail("peer", "rank %d belongs to another process, whose memory kernels of this one do "
      .. "not reach; let one process have all devices, or use collectives", number)
  end
  return number
end

--- peer(x, rank): the rank's own part is an ordinary tensor.
function M.peer(x, rank)
  sharded.check(x, "peer")
  rank = check_rank(x, rank)
  local own = internal.rank()
  if rank == own then return x:part(rank) end
  if not own then return internal.mesh_peer(x:part(rank)) end
  local of_own = x.peers[own] or {}
  x.peers[own] = of_own
  of_own[rank] = of_own[rank] or internal.mesh_peer(x:part(rank))
  return of_own[rank]
end

return M
