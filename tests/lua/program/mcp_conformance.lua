-- What `cuttle mcp` sends fits the types that the protocol publishes, in each of its versions, and
-- the data of its answers docs/report.schema.json: each tool, errors, progress, a cancelled call.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local scratch = dofile "tests/support/folder.lua"
local CLIENT <const> = "build/mcp_client"

if not os.execute(("test -f %s/mcp_client.txt"):format(CLIENT)) then
  tap.skip_all "the client of the Model Context Protocol is not installed here"
end

local quote = shell.quote

local here = assert(io.popen "pwd"):read "l"
local program = arg[-1]:find "^/" and arg[-1] or here .. "/" .. arg[-1]
local pipe = assert(io.popen(
  ("PYTHONPATH=%s/%s python3 tests/support/mcp_conformance.py %s %s %s 2>&1"):format(quote(here),
    CLIENT, quote(program), quote(scratch.path), quote(here))))
io.stdout:write(pipe:read "a")
local ok = pipe:close()
scratch.remove()
os.exit(ok == true, true)
