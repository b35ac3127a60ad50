-- ipc.lua: tensors of ranks in other processes, for kernels of this one. CUDA's IPC shares memory
-- between processes of one machine. What the other side needs is a *ticket*, a text of fixed
-- length: where the memory is, or why there is none. So all ranks can give one.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

M.BYTES = 384 -- of a ticket

local FORMAT <const> = "<s1 s1 i8 i8 i8 s1 s1" -- machine, handle, at, bytes, first, like, why
local LONGEST <const> = 120                 -- of the last two
local open = io and io.open

-- What tells one machine from another. If nothing does, the driver says what cannot be opened.
local function machine()
  local file = open and open("/proc/sys/kernel/random/boot_id")
  local id = file and file:read "l" or ""
  if file then file:close() end
  return id
end

local function title(t) return ("%s %s"):format(t.dtype, t.layout):sub(1, LONGEST) end

--- The ticket of a tensor.
function M.ticket(t)
  local handle, at, bytes, first = internal.mesh.ipc(t)
  local why = handle and "" or at:sub(1, 2 * LONGEST)
  local text = handle and FORMAT:pack(machine(), handle, at, bytes, first, title(t), why)
    or FORMAT:pack("", "", 0, 0, 0, "", why)
  return text .. ("\0"):rep(M.BYTES - #text)
end

--- The tensor of a rank's ticket, which is like that of this rank.
function M.open(ticket, like, rank, op)
  local where, handle, at, bytes, first, its, why = FORMAT:unpack(ticket)
  if why ~= "" then
    tiles.fail(op, "rank %d cannot share its tensor with other processes: %s", rank, why)
  elseif where ~= machine() then
    tiles.fail(op, "rank %d is on another machine, whose memory kernels of this one do not reach; "
      .. "use collectives, such as r:all_gather(src, dst)", rank)
  elseif its ~= title(like) then
    tiles.fail(op, "rank %d gives %s, but this rank gives %s; all ranks give tensors of one type "
      .. "and layout", rank, its, title(like))
  end
  return internal.mesh.open(like, handle, at, bytes, first, "rank " .. rank)
end

--- The tickets of a group, by rank; `call` as an engine's exchange has it.
function M.exchange(engine, call, t) return engine:exchange(call, M.ticket(t)) end

return M
