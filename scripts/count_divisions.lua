-- count_divisions.lua: counts the calls of floordiv and floormod in the emitted CUDA C of every
-- example and kernel case. Each call is a division that the emitter could not write plainly.
--
-- usage: cuttle scripts/count_divisions.lua [--cuttle=PROGRAM] [--root=FOLDER] [--sm=N] [--list]
--   --root: the source tree whose examples and cases are emitted; --list: also print each call.
local program, root, sm, lists = arg[-1], ".", "90", false
for _, option in ipairs(arg) do
  local name, value = option:match "^%-%-(%w+)=?(.*)$"
  if name == "cuttle" then program = value
  elseif name == "root" then root = value
  elseif name == "sm" then sm = value
  elseif name == "list" then lists = true
  else error("unknown option " .. option, 0) end
end

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function read(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  return text, pipe:close()
end

-- Calls in the text; the helpers' own heads are no calls.
local function count(text, lines)
  local n = 0
  for line in text:gmatch "[^\n]+" do
    if not line:find "^static __device__" then
      local code = line:gsub("//.*$", "")
      for _ in code:gmatch "%f[%w_]floor[dm][io][vd]%(" do
        n = n + 1
        lines[#lines + 1] = line
      end
    end
  end
  return n
end

local scripts = {}
for name in read(("cd %s && ls examples/*.lua"):format(quote(root))):gmatch "%S+" do
  scripts[#scripts + 1] = name
end
scripts[#scripts + 1] = "scripts/kernel_cases.lua tests/kernel_cases"

local total, failed = 0, 0
for _, script in ipairs(scripts) do
  local lines = {}
  local text, ok = read(("cd %s && CUTTLE_DEVICE=cpu timeout 100 %s emit --sm=%s %s 2>/dev/null")
    :format(quote(root), quote(program), sm, script))
  local n = count(text, lines)
  total, failed = total + n, failed + (ok and 0 or 1)
  if n > 0 or not ok then print(("%5d  %s%s"):format(n, script, ok and "" or "  (it failed)")) end
  for _, line in ipairs(lists and lines or {}) do print("       " .. line:match "^%s*(.*)$") end
end
print(("%5d  calls in %d scripts, %d of which failed"):format(total, #scripts, failed))
