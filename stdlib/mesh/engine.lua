-- engine.lua: who runs collectives: the engine of a mesh on the devices that are current when it is
-- first used. An engine is a table:
--   ranks            the ranks of this process, ascending
--   device(e, rank)  where the parts of a rank lie: "cpu", "cuda:1"
--   run(e, op, calls[, memo])  runs one operation for all ranks of this process that take part in
--                    it, and for any number of groups at once. It returns when the work is
--                    enqueued, and raises when it failed. Ranks of other processes make the same
--                    calls there. memo: a table that is given with these calls only; between two
--                    runs with it only their rows change. The engine keeps there what it found.
--   prepare(e, op, calls)  makes what that run needs, as kernels that wait may hold it up later
-- A call is one rank's part of it:
--   rank, group      the rank; all ranks that work together, in the group's order
--   src, dst         rows: 1-D tensors of elements that follow one another. Of g ranks:
--                      all_reduce      src and dst have n elements, and may be the same row
--                      reduce_scatter  src has g * n, dst n: part i of the sum goes to rank i
--                      all_gather      src has n, dst g * n
--                      all_to_all      both have g * n: part i goes to rank i
--                      broadcast       dst has n; what the root's holds goes to all
--   reduce           "sum", "max" or "min", of all_reduce and reduce_scatter
--   root             the rank that broadcasts
--   stream           of a collective: what launch.stream_handle gives; nil: the device's own
--   sends, recvs     of send_recv: lists of {rank =, row =, at =, n =}: n elements of the row from
--                    `at` on go to that rank, or come from it. The k-th send from one rank to
--                    another is the k-th that the other receives from it. No rank sends to itself.
--   exchange(e, call, text)  only if ranks are in several processes: a call has rank, group, place
--                    and where. All ranks of the group give texts of the same length; the result
--                    has them by rank. What the devices did before is over then.
-- The operation "barrier" has neither rows nor lists: all ranks of the group have come.
local tiles = require "cuttle.tiles"
local M = {}

local engines = setmetatable({}, { __mode = "k" }) -- by mesh, then by kind

local MAX_VIRTUAL <const> = 256 -- as of device"cpu:256"

-- That the CPU engine is taken for enough devices now.
local function check_virtual(m, n, op)
  if m.n <= n then return end
  if m.n > MAX_VIRTUAL then
    tiles.fail(op, "%s has %d ranks, but there are %d devices; the CPU engine acts as at most %d. "
      .. "m:plan works for any mesh", m, m.n, n, MAX_VIRTUAL)
  end
  tiles.fail(op, "%s has %d ranks, but there are %d devices; start with --device=cpu:%d, or write "
    .. "device\"cpu:%d\" first", m, m.n, n, m.n, m.n)
end

--- The mesh's engine; `op` begins messages.
function M.of(m, op)
  local info = device()
  local kind = info.sm and "nccl" or "cpu"
  if kind == "cpu" then check_virtual(m, info.n_devices, op) end
  local known = engines[m] or {}
  engines[m] = known
  known[kind] = known[kind] or require("cuttle.engine_" .. kind).open(m, op)
  return known[kind]
end

return M
