-- What `make install` puts into a folder, and that `make uninstall` takes all of it away; the manual
-- page and the completions; the package for Debian.
local build = arg[-1]:match "^(.*)/" or "."
local folder = os.tmpname()
os.remove(folder)
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function run(command, ...)
  local out, code = shell.run(command, ...)
  return code == 0, out
end

local function report(name, ok, note) return tap.ok(ok, name, note) end
local function has(command) return (run("command -v " .. command)) end

if not run("nm %s/libcuttle.a >/dev/null", build) then
  tap.skip_all "no archive"
elseif run("nm %s/libcuttle.so | grep -q __asan_init", build) then
  tap.skip_all "a sanitized library is as large as it likes"
elseif not run("test -f %s/docs/docs/reference.md", build) then
  tap.skip_all "the reference is not built"
end

-- {====== Install and uninstall ======

local make = ("env -u MAKEFLAGS -u MAKELEVEL make -s BUILD=%s"):format(build)
local stage, root = folder .. "/stage", folder .. "/root"
local function stage_in(prefix)
  return run("%s stage-files STAGE=%s PREFIX=%s", make, stage, prefix)
end
local function install(prefix)
  return run("scripts/install_tree.sh install %s '%s' %s/share/cuttle/manifest", stage, root,
    prefix)
end
local function uninstall(prefix)
  return run("%s uninstall DESTDIR=%s PREFIX=%s", make, root, prefix)
end

report("make stage-files", stage_in "/usr/local")
run("mkdir -p %s/usr/local/lib && echo mine > %s/usr/local/lib/mine", root, root)
report("install", install "/usr/local")
report("once more", install "/usr/local")

local count = [[find %s -type f -exec wc -c {} + | awk '$2 != "total" { n += $1 } END { print n }']]
local _, bytes = run(count, root)
report("it takes at most 23 MiB", tonumber(bytes) and tonumber(bytes) <= 23 << 20, bytes)
local installed = root .. "/usr/local"
for _, path in ipairs { "bin/cuttle", "lib/libcuttle.so.0", "lib/libcuttle.a", "include/cuttle.hpp",
  "lib/cmake/cuttle/cuttleConfig.cmake", "share/man/man1/cuttle.1", "share/doc/cuttle/LICENSE",
  "share/doc/cuttle/docs/tutorial.md", "share/doc/cuttle/docs/reference.md",
  "share/doc/cuttle/examples/moye_matmul.lua", "share/doc/cuttle/examples/embed/host.cpp" } do
  report(path .. " is there", run("test -s %s/%s", installed, path))
end
report("an installed example runs", run(
  "CUTTLE_DEVICE=cpu %s/bin/cuttle %s/share/doc/cuttle/examples/saxpy.lua", installed, installed))
if has "lua5.4" then
  local code = [[LUA_CPATH='%s/lib/lua/5.4/?.so' lua5.4 -e 'print(require("cuttle").layout(4, 8))']]
  report("a stock Lua requires the module", run(code, installed))
end
if has "readelf" then
  report("the library has its soname",
    run("readelf -d %s/lib/libcuttle.so | grep -q 'SONAME.*libcuttle.so.0'", installed))
end

report("uninstall", uninstall "/usr/local")
local _, left = run("cd %s && find . -type f -o -type l", root)
report("leaves what was there before", left == "./usr/local/lib/mine\n", left)
_, left = run("cd %s && find . -mindepth 1 -type d | sort", root)
report("and its folders", left == "./usr\n./usr/local\n./usr/local/lib\n", left)
local ok, out = uninstall "/usr/local"
report("a second time says that nothing is there",
  not ok and out:find("nothing is installed", 1, true), out)

run("rm -rf %s", root)
report("in an empty folder", install "/usr/local" and uninstall "/usr/local")
_, left = run("find %s -mindepth 1", root)
report("nothing is left", left == "", left)

-- A relative folder, whose name has a space.
local moved = folder .. "/moved"
local ok_there, said = run("%s stage-files STAGE=%s/moved 'PREFIX=build/a b'", make, folder)
report("PREFIX may be relative, and have spaces", ok_there, said)
local here = select(2, run "pwd"):gsub("\n$", "")
local there = ("%s%s/build/a b"):format(moved, here)
for _, path in ipairs { "bin/cuttle", "lib/libcuttle.so", "include/cuttle/ct.h",
  "lib/lua/5.4/cuttle.so", "share/man/man1/cuttle.1", "share/doc/cuttle/examples/embed/host.c" } do
  report(path .. " is in it", run("test -s '%s/%s'", there, path))
end
if has "pkg-config" then
  local flags = "PKG_CONFIG_PATH='%s/lib/pkgconfig' pkg-config --cflags --libs cuttle"
  local _, text = run(flags, there)
  report("and pkg-config knows it", text:find("a\\ b/include", 1, true) ~= nil, text)
end
local manifest = ("'%s/x y' '%s/build/a b/share/manifest'"):format(folder, here)
report("it is installed from there", run("scripts/install_tree.sh install %s %s", moved, manifest))
report("and uninstalled", run("scripts/install_tree.sh uninstall %s", manifest)
  and run("test ! -e '%s/x y'/*", folder))

-- {====== The same bytes ======

-- No folder is in what is built: neither in debug information, nor in what the linker makes of it.
for _, file in ipairs { "cuttle", "libcuttle.so", "libcuttle.a", "libcuttle_core.a" } do
  report(file .. " does not say where it was built",
    not run("grep -qF '%s' %s/%s", here, build, file))
end
run([[mkdir -p %s/1/t/b %s/2/t/b && cd %s/1/t && touch b/z && echo a > a && chmod 600 a
  cd %s/2/t && echo a > a && touch -d 2001-01-01 a b/z && chmod 664 a b/z && chmod 775 b]],
  folder, folder, folder, folder)
for i = 1, 2 do
  run("scripts/pack_tree.sh %s/%d t %s/%d.tar.gz 1000000000", folder, i, folder, i)
end
local same = run("test -s %s/1.tar.gz && cmp %s/1.tar.gz %s/2.tar.gz", folder, folder, folder)
report("an archive says nothing of times, order and umask",
  same or not run "tar --version | grep -q GNU")
local _, seconds = run "SOURCE_DATE_EPOCH=17 scripts/source_date.sh"
tap.is(seconds, "17\n", "the time of an archive is given")

-- {====== The playground ======

run("mkdir -p %s/play/codemirror && cd %s/play && touch index.html codemirror/lua.js", folder,
  folder)
local function playground(target)
  return run("%s %s PLAYGROUND=%s/play BUILD=%s/build DESTDIR=%s PREFIX=/usr", make, target, folder,
    folder, root)
end
report("the playground is installed", playground "install-playground-files")
report("where cuttle view looks", run("test -f %s/usr/share/cuttle/playground/index.html", root))
report("with its folders", run("test -f %s/usr/share/cuttle/playground/codemirror/lua.js", root))
report("and uninstalled", playground "uninstall-playground")
_, left = run("find %s -mindepth 1", root)
report("nothing of it is left", left == "", left)

-- {====== Commands ======

local share = stage .. "/usr/local/share/"
local function read(path) return shell.read_file(share .. path) end

local page = read "man/man1/cuttle.1"
local bash, zsh = read "bash-completion/completions/cuttle", read "zsh/site-functions/_cuttle"
local fish = read "fish/vendor_completions.d/cuttle.fish"
for _, name in ipairs { "check", "emit", "profile", "timeline", "bench", "view", "info", "help" } do
  report(name .. " is explained and completed", page:find(".SS cuttle " .. name, 1, true)
    and bash:find(name, 1, true) and zsh:find("'" .. name .. ":", 1, true)
    and fish:find("-a " .. name, 1, true))
end
report("options, too", page:find "\\%-\\%-no\\%-global" and bash:find "%-%-no%-global"
  and zsh:find "%-%-no%-global" and fish:find "no%-global")

local function check(tool, name, command)
  if not has(tool) then
    tap.skip(name, "no " .. tool)
    return
  end
  local fine, said = run(command, share)
  report(name, fine and said == "", said)
end
check("groff", "the page has no errors", "groff -man -Tutf8 -ww %sman/man1/cuttle.1 >/dev/null")
check("bash", "bash reads its completions", "bash -n %sbash-completion/completions/cuttle")
check("zsh", "zsh reads its completions", "zsh -n %szsh/site-functions/_cuttle")
check("fish", "fish reads its completions", "fish -n %sfish/vendor_completions.d/cuttle.fish")

-- What bash offers after a line of words; the last one is being typed.
local function offered(...)
  local words = { ... }
  local script = [[
compopt() { :; }
source %s/bash-completion/completions/cuttle
COMP_WORDS=(%s) COMP_CWORD=%d
_cuttle
echo "${COMPREPLY[*]}"]]
  for i, word in ipairs(words) do words[i] = "'" .. word .. "'" end
  local file <close> = assert(io.open(folder .. "/offer.sh", "w"))
  file:write(script:format(share, table.concat(words, " "), #words - 1))
  file:close()
  return select(2, run("cd %s && bash offer.sh", folder)):gsub("%s+$", "")
end
if has "bash" then
  tap.is(offered("cuttle", "pro"), "profile", "bash completes a command")
  tap.is(offered("cuttle", "check", "--n"), "--nan --no-global --needless", "and its options")
  tap.is(offered("cuttle", "emit", "--sm"), "--sm=", "and what takes a value")
end

-- {====== Debian ======

if has "dpkg-deb" and has "dpkg-shlibdeps" then
  run("rm -rf %s && mkdir -p %s/deb", stage, folder)
  stage = folder .. "/deb/root"
  report("make stage-files PREFIX=/usr", stage_in "/usr")
  report("a package", run("DEBEMAIL=test@debian.org DPKG_DEB_COMPRESSOR_LEVEL=0 "
    .. "scripts/make_deb.sh %s/deb 0.1.0", folder)) -- the compressor of a release takes 15 s
  report("that can be unpacked", run("dpkg-deb -x %s/*.deb %s/unpacked", folder, folder))
  report("and runs", run("%s/unpacked/usr/bin/cuttle -e 'print(1)'", folder))
  if has "lintian" then
    report("lintian has nothing to say",
      run("lintian --no-cfg --allow-root --fail-on error,warning %s/*.deb", folder))
  else
    tap.skip("lintian", "no lintian")
  end
else
  tap.skip("a package for Debian", "no dpkg-deb, or no dpkg-dev")
end
run("rm -rf %s", folder)
tap.done()
