-- Whatever happens to a program that keeps results, none that was kept is lost, and nothing is read
-- half: killed at any moment, two side by side, a disk that is full.
local shell = dofile "tests/support/shell.lua"
local store = require "cuttle.store"
local folder = shell.folder()
local cuttle = arg[-1]:gsub("^[^/].*/", os.getenv("PWD") .. "/%0")
local path = folder .. "/k.tune"

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

local function run(command) return (shell.run("cd %s && { %s ; }", folder, command)) end

local function line_of(command) return (run(command):gsub("\n$", "")) end

-- Adds results without end, and names each one that was kept: "adder.lua NAME [COUNT]".
write("adder.lua", [[
  local store = require "cuttle.store"
  for i = 1, tonumber(arg[2] or 1e9) do
    local ok, why = store.add("k.tune", { { name = arg[1], how = "measured", ms = i, device = "GPU",
      driver = "CUDA 13.0", key = arg[1] .. "-" .. i, config = ("a=%d"):format(i):rep(40, " "),
      source = "0123456789abcdef" } })
    if not ok then print(why) break end
    print("kept " .. arg[1] .. "-" .. i)
    io.stdout:flush()
  end ]])

local function known()
  local keys, n, torn = {}, 0, 0
  for _, row in ipairs(assert(store.read(path))) do
    keys[row.key], n = row, n + 1
    torn = torn + (row.config == ("a=%d"):format(row.ms):rep(40, " ") and 0 or 1)
  end
  return keys, n, torn
end

local function lost_of(text)
  local keys, lost, kept = known(), 0, 0
  for key in text:gmatch "kept (%S+)\n" do
    kept = kept + 1
    lost = lost + (keys[key] and 0 or 1)
  end
  return lost, kept
end

-- Killed when it has kept some, ten times, on one file. `out` is emptied before it begins: the shell
-- may look at it before the program in the background has opened it.
local all = {}
for i = 1, 10 do
  all[i] = run((": > out; %s adder.lua k%d >> out & n=0; "
    .. "until [ $(wc -l < out) -ge %d ] || [ $n = 60000 ]; do n=$((n + 1)); sleep 0.01; done; "
    .. "kill -9 $!; wait; cat out"):format(cuttle, i, 2 * i))
end
local lost, kept = lost_of(table.concat(all))
local _, n, torn = known()
print(lost, kept >= 110, n >= kept, n <= kept + 10, torn) -- expect: 0	true	true	true	0

-- What the killed ones left goes when the next one writes.
write("k.tune.99999-0.tmp", "half a li")
write("k.tune.mine.tmp", "somebody's own")
print(line_of(cuttle .. " adder.lua next 1"))              -- expect: kept next-1
print(line_of "ls | grep tmp")                              -- expect: k.tune.mine.tmp

-- Three at once on one file: all that each of them kept is there.
os.remove(path)
local text = run(("for i in x y z; do %s adder.lua $i 25 & done; wait"):format(cuttle))
lost, kept = lost_of(text)
_, n, torn = known()
print(lost, kept, n, torn)                              -- expect: 0	75	75	0

-- A disk that is full: an error, and the file as it was.
local function bytes() return #run "cat k.tune" end
local before = bytes()
text = run(("trap '' XFSZ; ulimit -f 1; %s adder.lua full"):format(cuttle))
print(text:match "k.tune: [^\n]*", bytes() == before, (run("ls | grep -c -- '-.*tmp'"):match "%d+")) -- expect: k.tune: File too large	true	0
run(("ulimit -f 1; %s adder.lua full"):format(cuttle))  -- killed by the signal
_, n = known()
print(bytes() == before, n)                             -- expect: true	75
local ok, why = store.add("/dev/full", {})              -- C libraries have different words for it
print(ok, why:lower():match "^/dev/full: .*not supported$" ~= nil) -- expect: nil	true

os.execute(("rm -rf %s"):format(folder))
