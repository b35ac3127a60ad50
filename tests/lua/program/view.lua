-- `cuttle view`: what it writes, prints and refuses. What pages do is tested in tests/browser.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local home = os.tmpname() -- a file; the folder beside it is ours
local folder = home .. ".d"
assert(os.execute("mkdir " .. folder))

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Runs `cuttle view` in the folder: stdout and stderr together, and the exit code.
local function view(arguments, environment)
  local program = quote(cuttle)
  local pipe = assert(io.popen(("cd %s && case %s in /*) c=%s ;; *) c=$OLDPWD/%s ;; esac; "
    .. "%s \"$c\" view %s 2>&1 </dev/null"):format(folder, program, program, program,
    environment or "", arguments)))
  local out = pipe:read("a")
  local _, _, code = pipe:close()
  return out, code
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

local function write(name, text)
  local file <close> = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(text)
end

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

-- What it does not do.
write("mine.html", "<!DOCTYPE html>\n<p>mine</p>\n")
check("does not overwrite what is no page of its own", "-o mine.html 4:1",
  "view: mine.html exists and is not a page of cuttle view; name another file with -o\n", 1)
report("and leaves it as it was", read("mine.html") == "<!DOCTYPE html>\n<p>mine</p>\n", "changed")
check("an operation's error is one line", [['zipped_divide("(8,8):(8,1)", "(2,4,4)")']],
  "view: zipped_divide: tiler (2,4,4) has rank 3 but (8,8):(8,1) has rank 2; give one tile size "
  .. "per mode\n", 1)
check("so is one of syntax", "'size('", "view: size(: unexpected symbol near <eof>\n", 1)
check("one of a bare layout speaks of layouts", "'(4,8):(8'",
  "view: layout: expected ')' at column 8 of '(4,8):(8'\n", 1)
check("an unknown name", "'foo(1)'", "view: attempt to call a nil value (global 'foo')\n", 1)
check("nil", "foo", "view: 'foo' is worth nil; a layout was expected\n", 1)
check("no expression", "", "view: an expression was expected; see cuttle view --help\n", 1)
check("an unquoted expression", "'(4,8)' ':(8,1)'", "view: ':(8,1)' is a second expression; quote "
  .. "the whole, as in cuttle view 'zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")'\n", 1)
check("an unknown option", "--fast 4:1", "view: unknown option --fast; see cuttle view --help\n", 1)
check("-o without a name", "4:1 -o", "view: -o needs the name of a file\n", 1)
check("a folder that is not there", "-o no/x.html 4:1",
  "view: no/x.html: No such file or directory\n", 1)
local help, help_code = view("--help")
report("--help", help:find("^usage: cuttle view") and help_code == 0, help)

-- --open hands the page's name to the opener as one word, whatever stands in it.
write("xdg-open", "#!/bin/sh\nprintf '%s|' \"$#\" \"$1\" >opened.new && mv opened.new opened\n")
assert(os.execute("chmod +x " .. folder .. "/xdg-open"))
local out, code = view([[--open -o "it's \$(touch bad);.html" 4:1]], "PATH=.:$PATH")
for _ = 1, 600 do -- it runs beside us
  if read("opened") or not os.execute("sleep 0.1") then break end
end
report("--open prints the name", out == "it's $(touch bad);.html\n" and code == 0, out)
report("--open opens it", read("opened") == "1|./it's $(touch bad);.html|", read("opened"))
report("--open runs nothing else", read("bad") == nil, "a command ran")

os.execute("rm -r " .. folder)
os.remove(home)
tap.done()
