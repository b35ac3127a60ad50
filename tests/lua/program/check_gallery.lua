-- Faulty kernels, each found by `check` with the whole message at the right line, and nothing else.
-- tests/check/NAME.lua: `-- finds: MESSAGE` on the line to blame, once for each message;
-- `-- check: nan` asks for NaN, too. An argument names one file.
local tap = dofile "tests/support/tap.lua"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

-- "LINE: MESSAGE" of what the comments expect.
local function expected(text)
  local out, line = {}, 0
  for content in text:gmatch("([^\n]*)\n") do
    line = line + 1
    local rest = content:match("%-%- finds: (.*)$")
    for message in (rest and rest .. " -- finds: " or ""):gmatch("(.-) %-%- finds: ") do
      out[#out + 1] = line .. ": " .. message
    end
  end
  table.sort(out)
  return table.concat(out, "\n")
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- On one thread: which block is the last, say, is the same in every run.
local function found(path, text)
  local pipe = assert(io.popen(("CUTTLE_THREADS=1 %s check %s %s 2>&1 </dev/null"):format(
    quote(arg[-1]), text:find("-- check: nan", 1, true) and "--nan" or "", path)))
  local out = {}
  for line in pipe:lines() do
    if line:find(path .. ":", 1, true) == 1 then line = line:sub(#path + 2) end
    out[#out + 1] = line:gsub(" %(%d+ times%)$", "")
  end
  pipe:close()
  table.remove(out) -- the summary
  table.sort(out)
  return table.concat(out, "\n")
end

local list = assert(io.popen("ls " .. (arg[1] or "tests/check/*.lua")))
for path in list:lines() do
  local text = read(path)
  local want, got = expected(text), found(path, text)
  tap.ok(want == got and want ~= "", path, ("expected\n%s\ngot\n%s"):format(want, got))
end
list:close()
tap.done()
