-- peer.lua: a program that takes part in a benchmark as a process of its own: requests are
-- lines to its standard input; it answers each by a line "ok ..." or "error ...". What else it
-- prints is kept for messages. It is alone on the device while a request runs.
local M = {}

local Peer = {}
Peer.__index = Peer

--- The text as one word of a shell.
function M.quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- Starts a shell command, whose output comes back through a named pipe. It is not waited for. When
--- it ends the shell says so and takes what is still written, so that nobody writes to nothing.
function M.start(command)
  local pipe = os.tmpname()
  os.remove(pipe)
  if not os.execute("mkfifo -m 600 " .. M.quoted(pipe)) then return nil, "mkfifo failed" end
  local to = io.popen(("{ %s; echo; echo gone; cat >/dev/null; } >%s 2>&1"):format(command,
    M.quoted(pipe)), "w")
  local from = to and io.open(pipe, "r")
  os.remove(pipe)
  if not from then return nil, "the shell did not start" end
  return setmetatable({ to = to, from = from, said = "" }, Peer)
end

--- Sends a request.
function Peer:send(format, ...)
  self.to:write(format:format(...), "\n")
  self.to:flush()
end

--- Waits for the answer: what follows "ok ", or nil and what is wrong.
function Peer:answer()
  for line in self.from:lines() do
    local kind, rest = line:match "^(%l+) ?(.*)$"
    if kind == "ok" then return rest end
    if kind == "error" then return nil, rest end
    if line == "gone" then break end
    if line ~= "" then self.said = line end
  end
  return nil, "it ended" .. (self.said ~= "" and ": " .. self.said or "")
end

--- Both; raises where the answer is an error.
function Peer:ask(format, ...)
  self:send(format, ...)
  local answer, why = self:answer()
  if not answer then error("bench: the peer: " .. why, 0) end
  return answer
end

--- A candidate of regimes.lua that it measures: the request is sent with a regime's numbers.
function Peer:candidate(name, kind, request)
  return {
    name = name, kind = kind, verdict = "",
    start = function(idle, warm, sync, reps)
      self:send("%s %g %d %d %d", request, idle, warm, sync and 1 or 0, reps)
    end,
    finish = function()
      local answer, why = self:answer()
      if not answer then error(("%s: the peer: %s"):format(name, why), 0) end
      return tonumber(answer)
    end,
  }
end

function Peer:close()
  if self.to then
    self.to:close()
    self.from:close()
    self.to = nil
  end
end

return M
