-- `cuttle view`: what it writes, prints and refuses. What pages do is tested in tests/browser.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local home = os.tmpname() -- a file; the folder beside it is ours
local folder = home .. ".d"
assert(os.execute("mkdir " .. folder))

local quote = shell.quote

-- Runs `cuttle view` in the folder: stdout and stderr together, and the exit code.
local function view(arguments, environment)
  return shell.run("cd %s && %s '%s' view %s", folder, environment or "", shell.program, arguments)
end

local function report(name, ok, note) tap.ok(ok, name, note) end

local function check(name, arguments, want, want_code)
  local out, code = view(arguments)
  report(name, out == want and code == want_code, ("exit code %d, got %q, expected %q"):format(code,
    out, want))
end

local function read(name)
  local file = io.open(folder .. "/" .. name, "rb")
  local text = file and file:read("a")
  if file then file:close() end
  return text
end

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

-- What is written, and where.
local divide = [['zipped_divide("(8,8):(8,1)", "(2,4)")']]
check("names the page after the expression", divide, "zipped_divide_8_8-8_1_2_4.html\n", 0)
local page = read("zipped_divide_8_8-8_1_2_4.html") or ""
report("the page shows the expression as it was written",
  page:find("<title>zipped_divide(&quot;(8,8):(8,1)&quot;, &quot;(2,4)&quot;)</title>", 1, true),
  page:match("<title>.-</title>"))
report("and its result", page:find("((2,4),(4,2)):((8,1),(16,4))", 1, true), #page)
check("writes a page anew", divide, "zipped_divide_8_8-8_1_2_4.html\n", 0)
check("a bare layout", "'(4,8):(8,1)'", "4_8-8_1.html\n", 0)
check("-o names the page", "-o 'a b.html' '(4,8)'", "a b.html\n", 0)
report("which is there", (read("a b.html") or ""):find("^<!DOCTYPE html>"), "no page")
check("options may follow, and --device may stand before", "--device=cpu '4:1' -o after.html",
  "after.html\n", 0)
check("an expression of letters only has a name too", "-o x.html 'L\"4:1\"'", "x.html\n", 0)
check("a name is not too long", "'(" .. ("1,"):rep(40) .. "1)'",
  ("1_"):rep(30):sub(1, 59) .. ".html\n", 0)

check("a bare layout with names", "-o x.html '(M=4, K=2):(2,1)'", "x.html\n", 0)
check("a bare swizzled layout", "-o x.html 'Sw<1,0,1> o 0 o (2,2):(2,1)'", "x.html\n", 0)

-- A launch of a script: its N-th, up to which the script runs.
write("launches.lua", [[
local k = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
local x = ones(f32, tonumber(arg[1] or 8))
for i = 1, 3 do k{grid = 1, block = #arg > 0 and 4 or 8}(x) end
write_after = io.open("after", "w")
]])
check("--launch draws a launch", "launches.lua --launch=2", "launches.html\n", 0)
local drawn = read("launches.html") or ""
report("the page is that of the launch",
  drawn:find("<title>twice{grid = 1, block = 8}</title>", 1, true),
  drawn:match("<title>.-</title>"))
report("the script went no further", read("after") == nil, "it ran on")
check("arguments follow the script", "--launch 1 -o four.html launches.lua 4", "four.html\n", 0)
report("and reach it", (read("four.html") or ""):find("block = 4}", 1, true), "no block of 4")
check("a launch that is not there", "launches.lua --launch=4",
  "view: there is no launch 4; launches.lua made 3\n", 1)
check("a number is wanted", "launches.lua --launch=0",
  "view: --launch=0; the number of a launch was expected, from 1 on\n", 1)
check("launches are of scripts", "--launch=1 4:1", "view: --launch=1 is of a script\n", 1)
check("without --launch a script has no arguments", "launches.lua 4",
  "view: '4' is an argument of the script, which does not run; write --launch=1 to draw a "
    .. "launch\n", 1)

-- What it does not do.
write("mine.html", "<!DOCTYPE html>\n<p>mine</p>\n")
check("does not overwrite what is no page of its own", "-o mine.html 4:1",
  "view: mine.html exists and is not a page of cuttle view; name another file with -o\n", 1)
report("and leaves it as it was", read("mine.html") == "<!DOCTYPE html>\n<p>mine</p>\n", "changed")
check("an operation's error is one line", [['zipped_divide("(8,8):(8,1)", "(2,4,4)")']],
  "view: zipped_divide: tiler (2,4,4) has rank 3 but (8,8):(8,1) has rank 2; write one tile size "
  .. "per mode\n", 1)
check("so is one of syntax", "'size('", "view: size(: unexpected symbol near <eof>\n", 1)
check("one of a bare layout speaks of layouts", "'(4,8):(8'",
  "view: layout: expected ')' at column 8 of '(4,8):(8'\n", 1)
check("an unknown name", "'foo(1)'", "view: attempt to call a nil value (global 'foo')\n", 1)
check("nil", "foo", "view: 'foo' is nil; a layout was expected\n", 1)
check("-o without an expression", "-o x.html",
  "view: an expression was expected; see cuttle view --help\n", 1)
check("an unquoted expression", "'(4,8)' ':(8,1)'", "view: ':(8,1)' is a second expression; quote "
  .. "the whole, as in cuttle view 'zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")'\n", 1)
check("an unknown option", "--fast 4:1", "view: unknown option --fast; see cuttle view --help\n", 1)
check("-o without a name", "4:1 -o", "view: -o needs the name of a file\n", 1)
check("a folder that is not there", "-o no/x.html 4:1",
  "view: no/x.html: No such file or directory\n", 1)
local help, help_code = view("--help")
report("--help", help:find("^usage: cuttle view") and help_code == 0, help)

-- An opener in the folder notes what it gets, as one word each.
write("xdg-open", "#!/bin/sh\nprintf '%s|' \"$#\" \"$1\" >opened.new && mv opened.new opened\n")
assert(os.execute("chmod +x " .. folder .. "/xdg-open"))
local function opened()
  for _ = 1, 600 do -- it runs beside us
    if read("opened") or not os.execute("sleep 0.1") then break end
  end
  local got = read("opened")
  os.remove(folder .. "/opened")
  return got
end

-- --open hands the page's name to the opener as one word, whatever stands in it.
local out, code = view([[--open -o "it's \$(touch bad);.html" 4:1]], "PATH=.:$PATH")
report("--open prints the name", out == "it's $(touch bad);.html\n" and code == 0, out)
tap.is(opened(), "1|./it's $(touch bad);.html|", "--open opens it")
report("--open runs nothing else", read("bad") == nil, "a command ran")

-- {====== The playground ======

assert(os.execute(("cd %s && mkdir -p 'play ground' bin share/cuttle/playground"):format(folder)))
write("play ground/index.html", "<!DOCTYPE html>\n")
out, code = view("--playground='play ground'", "PATH=.:$PATH")
report("without arguments it prints where the playground is",
  out == "play ground/index.html\n" and code == 0, out)
tap.is(opened(), "1|./play ground/index.html|", "and opens it")
out, code = view("", "PATH=.:$PATH CUTTLE_PLAYGROUND='play ground/'")
report("CUTTLE_PLAYGROUND names it, too", out == "play ground/index.html\n" and code == 0, out)
opened()
out, code = view("--playground https://example.org/cuttle/", "PATH=.:$PATH")
report("so does a URL", out == "https://example.org/cuttle/\n" and code == 0, out)
tap.is(opened(), "1|https://example.org/cuttle/|", "which is opened as it is")

out, code = view("--notebook --playground https://example.org/cuttle/index.html", "PATH=.:$PATH")
report("--notebook is the page beside it",
  out == "https://example.org/cuttle/notebook.html\n" and code == 0, out)
opened()
out, code = view("--notebook --playground='play ground'", "PATH=.:$PATH")
report("in a folder, too", out == "play ground/notebook.html\n" and code == 0, out)
opened()
check("--notebook with an expression", "--notebook 4:1", "view: --notebook needs a script, whose "
  .. "name ends in .lua, not an expression\n", 1)

check("a folder without it", "--playground=empty", "view: the playground is not installed: no "
  .. "index.html in empty; build it with `make playground` and install it with `make "
  .. "install-playground`, or name its folder with --playground=FOLDER\n", 1)
check("--playground without a value", "--playground", "view: --playground needs a folder or a URL, "
  .. "as in --playground=build/playground\n", 1)

-- A copy of the program finds what is installed beside it, by way of a link, too.
if os.execute("test -e /proc/self/exe") then
  local beside = folder .. "/share/cuttle/playground/index.html"
  write("share/cuttle/playground/index.html", "<!DOCTYPE html>\n")
  assert(os.execute(("case %s in /*) c=%s ;; *) c=$PWD/%s ;; esac; cp \"$c\" %s/bin/cuttle && "
    .. "ln -s bin/cuttle %s/linked"):format(quote(cuttle), quote(cuttle), quote(cuttle), folder,
    folder)))
  local pipe = assert(io.popen(("cd %s && env -u CUTTLE_PLAYGROUND PATH=.:$PATH ./linked view 2>&1")
    :format(folder)))
  tap.is(pipe:read("a"):gsub("^.*(/share)", "%1"), "/share/cuttle/playground/index.html\n",
    "the program finds what is installed beside it")
  pipe:close()
  tap.is((opened() or ""):gsub("^1|.*(/share)", "%1"), beside:match("/share.*") .. "|",
    "and opens that")
else
  tap.skip("the program finds what is installed beside it", "no /proc")
end

-- {====== Links ======

-- RFC 1951, a block with the fixed codes, bit by bit: it knows nothing of deflate.lua.
local function inflate(bytes)
  local at, text = 0, ""
  local function bit()
    local byte = bytes:byte(at // 8 + 1)
    at = at + 1
    return byte >> (at - 1) % 8 & 1
  end
  local function number(n)
    local value = 0
    for i = 0, n - 1 do value = value | bit() << i end
    return value
  end
  local function code(n)
    local value = 0
    for _ = 1, n do value = value << 1 | bit() end
    return value
  end
  local function symbol()
    local c = code(7)
    if c < 24 then return 256 + c end
    c = c << 1 | bit()
    if c < 0xc0 then return c - 0x30 end
    if c < 0xc8 then return c - 0xc0 + 280 end
    return (c << 1 | bit()) - 0x190 + 144
  end
  local length_base = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59,
    67, 83, 99, 115, 131, 163, 195, 227, 258 }
  local length_bits = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5,
    5, 5, 5, 0 }
  local distance_base = { 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513,
    769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577 }
  assert(number(3) == 3, "one last block with the fixed codes")
  while true do
    local s = symbol()
    if s == 256 then return text end
    if s < 256 then
      text = text .. string.char(s)
    else
      local n = length_base[s - 256] + number(length_bits[s - 256])
      local d = code(5)
      local distance = distance_base[d + 1] + number(math.max(0, d // 2 - 1))
      for _ = 1, n do text = text .. text:sub(-distance, -distance) end
    end
  end
end

local function from_base64url(text)
  local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  local held, n, out = 0, 0, {}
  for digit in text:gmatch "." do
    held, n = held << 6 | digits:find(digit, 1, true) - 1, n + 6
    if n >= 8 then
      out[#out + 1] = string.char(held >> n - 8 & 0xff)
      n = n - 8
    end
  end
  return table.concat(out)
end

-- What the link of a script carries: the JSON as text.
local function carried(text)
  write("a script.lua", text)
  local link, link_code = view("--playground='play ground' 'a script.lua'")
  local address, state = link:match "^(.-)#s=([%w_-]+)\n$"
  return link_code == 0 and inflate(from_base64url(state)), address or link
end

local got, address = carried "print(1)\n"
tap.is(got, '{"script":"print(1)\\n",\n"v":1}', "a link carries the script")
report("and leads to the playground", address:find "^file:///.*/play%%20ground/index.html$",
  address)
local random = {}
local words = { "copy(", "A, ", "sB)\n", "\u{e9}", "for i = 0, 7 do ", " ", "end\n", "<b>" }
math.randomseed(7)
for i = 1, 900 do random[i] = words[math.random(#words)] end
random = table.concat(random) .. ("x"):rep(700) .. "\n"
got = carried(random)
local escaped = { ["\n"] = "\\n", ["<"] = "\\u003c", [">"] = "\\u003e" }
tap.is(got, '{"script":"' .. random:gsub("[\n<>]", escaped) .. '",\n"v":1}',
  "a long one with repetitions and other letters, too")
tap.is((carried ""), '{"script":"",\n"v":1}', "an empty one, too")

write("b.lua", "print(1)\n")
out = view("--playground=https://example.org/p/ b.lua")
report("a link to where it is hosted", out:find "^https://example.org/p/#s=[%w_-]+\n$", out)
out = view("--playground=https://example.org/p --notebook b.lua")
report("or of its notebook", out:find "^https://example.org/p/notebook.html#s=[%w_-]+\n$", out)
out = view("--playground='play ground' --open b.lua", "PATH=.:$PATH")
report("--open prints the link", out:find "^file:///.*#s=", out)
local page_name = (opened() or ""):match "^1|(/.*)|$"
local leading <close> = io.open(page_name or "", "rb")
report("and opens a page that leads to it", leading and leading:read("a"):find(
  'content="0;url=' .. out:match "^(.-)\n" .. '"', 1, true), page_name)
if page_name then os.execute("rm -r " .. quote(page_name:match "^(.*)/")) end

write("bad.lua", "print '\xff'\n")
check("no text", "--playground='play ground' bad.lua",
  "view: bad.lua is not UTF-8 text, which links need\n", 1)
check("a script that is not there", "--playground='play ground' none.lua",
  "view: none.lua: No such file or directory\n", 1)
check("-o with a script", "--playground='play ground' -o x.html b.lua",
  "view: a script makes no page, but a link, so -o x.html has no effect here\n", 1)

os.execute("rm -r " .. folder)
os.remove(home)
tap.done()
