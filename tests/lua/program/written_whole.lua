-- A file that cannot be written to its end leaves what was there as it was, and nothing beside it.
local shell = dofile "tests/support/shell.lua"
local folder = shell.folder()

local run = shell.run

local function text_of(name) return shell.read_file(folder .. "/" .. name) end

-- In a process whose files may have 8 blocks of 512 bytes.
local function run_short(code)
  return run(("cd %s && trap '' XFSZ && ulimit -f 8 && %s -e '%s'"):format(folder,
    arg[-1]:gsub("^[^/].*/", os.getenv("PWD") .. "/%0"), code))
end

save_npy(folder .. "/x.npy", arange(i32, 4))
local before = text_of "x.npy"
print((run_short 'save_npy("x.npy", zeros(f32, 1 << 16))'):match "save_npy: .*[^\n]")
-- expect: save_npy: 'x.npy': File too large
print(text_of "x.npy" == before)               -- expect: true
svg("(2,2)", folder .. "/x.svg")
before = text_of "x.svg"
print((run_short 'svg("(64,64)", "x.svg")'):match "svg: .*[^\n]") -- expect: svg: x.svg: File too large
print(text_of "x.svg" == before)               -- expect: true
print((run("ls " .. folder):gsub("\n", ","))) -- expect: x.npy,x.svg,

-- A name that is there keeps its permissions, a link its place; what is no file is written to.
run(("cd %s && chmod 640 x.npy && ln -s x.npy link.npy"):format(folder))
save_npy(folder .. "/link.npy", arange(i32, 5))
print(load_npy(folder .. "/x.npy").layout)     -- expect: 5:1
print(run(("cd %s && ls -l x.npy"):format(folder)):match "^%S+") -- expect: -rw-r-----
print(run(("cd %s && readlink link.npy"):format(folder)):match "%S+") -- expect: x.npy
save_npy("/dev/null", arange(i32, 5))
print(#run(("%s -e 'save_npy([[/dev/stdout]], arange(i32, 4))' | cat"):format(arg[-1]))) -- expect: 144
os.execute("rm -r " .. folder)
