-- `cuttle mcp` with the protocol's official client: each tool, resources, progress, a call that is
-- cancelled, a process that crashes, a server that is killed. scripts/deps.sh installs the client;
-- without it, or without Linux's /proc, this is skipped.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local CLIENT <const> = "build/mcp_client"

local function succeeds(command, ...) return os.execute(command:format(...)) == true end
if not succeeds("test -f %s/mcp_client.txt", CLIENT) then
  tap.skip_all "the client of the Model Context Protocol is not installed here"
elseif not succeeds "test -f /proc/self/task/$$/children || test -f /proc/$$/task/$$/children" then
  tap.skip_all "the system does not tell the children of a process"
end

local quote = shell.quote

local folder, here = os.tmpname(), assert(io.popen "pwd"):read "l"
os.remove(folder)
assert(succeeds("mkdir %s", folder))
local program = arg[-1]:find "^/" and arg[-1] or here .. "/" .. arg[-1]
local pipe = assert(io.popen(("PYTHONPATH=%s/%s python3 tests/support/mcp_client.py %s %s %s 2>&1")
  :format(quote(here), CLIENT, quote(program), folder, quote(here))))
io.stdout:write(pipe:read "a")
local ok = pipe:close()
os.execute("rm -r " .. folder)
os.exit(ok == true, true)
