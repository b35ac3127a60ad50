-- `cuttle watch`: it runs a script, and again when the file is saved, also by a command.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
local folder = shell.folder()
local script, out = folder .. "/k.lua", folder .. "/out"

local function write(text) shell.write_file(script, text) end

local function read()
  local file <close> = io.open(out, "rb")
  return file and file:read "a" or ""
end

-- Starts it, calls `work`, and ends it.
local function watching(arguments, work)
  local pipe = assert(io.popen(("exec 2>&1; '%s' watch %s %s >%s 2>&1 & echo $!"):format(cuttle,
    script, arguments, out)))
  local pid = pipe:read "l"
  work()
  os.execute(("kill %s 2>/dev/null"):format(pid))
  pipe:close()
end

-- Whether the output has the text, at the latest after some seconds.
local function comes(text)
  for _ = 1, 200 do
    if read():find(text, 1, true) then return true end
    os.execute "sleep 0.05"
  end
  return false
end

write "print 'first'"
watching("", function()
  tap.ok(comes "first", "it runs the script", read())
  write "print 'second' while true do end"
  tap.ok(comes "second", "it runs the script again at a save", read())
  write "print 'the third'"
  tap.ok(comes "the third", "also if the run before goes on", read())
end)
write "kernel('k', function(x) x[threadIdx.x] = 1 end){grid = 1, block = 32}(zeros(f32, 16))"
watching("check --nan", function()
  tap.ok(comes "out of bounds: write of x at 16", "it runs a command", read())
end)
local function refusal(arguments) return (shell.cuttle("watch %s", arguments)) end
tap.is(refusal "none.lua", "watch: there is no file none.lua\n", "a file that is missing")
tap.is(refusal "--nan", "watch: unknown option --nan; see cuttle watch --help\n", "an option")
tap.is(refusal "", "watch: a script was expected; see cuttle watch --help\n", "no file")
os.execute("rm -r " .. folder)
tap.done()
