-- scripts/bench/packed.lua on the CPU engine: packed weights of each type, with few rows and many.
local shell = dofile "tests/support/shell.lua"
local function lines(arguments) return (shell.cuttle("scripts/bench/packed.lua " .. arguments)) end
for _, how in ipairs{"--type=u4", "--type=u8 --rows=2", "--type=nf4 --group=32", "--type=f4e2m1",
                    "--activations=i8 --rows=2"} do
  local text = lines(how .. " 24x128")
  local few = select(2, text:gsub("%d+x24x128[^\n]+ of the copy  error %S+  packed [^\n]+", ""))
  local many = select(2, text:gsub("80x24x128[^\n]+ bf16 [^\n]+ error %S+  %l[^\n]+", ""))
  print(how, few, many, text:find "WRONG")
end
-- expect: --type=u4	2	1	nil
-- expect: --type=u8 --rows=2	1	1	nil
-- expect: --type=nf4 --group=32	2	1	nil
-- expect: --type=f4e2m1	2	1	nil
-- expect: --activations=i8 --rows=2	1	1	nil
print((lines "--warm":gsub("^[^\n]-packed: ", "")))
-- expect: '--warm' is no option and no size like 4096x4096
-- expect:
