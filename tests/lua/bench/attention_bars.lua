-- scripts/bench/attention_bars.lua on the CPU engine: small rows, without peers; and one of ours with
-- a configuration of a file.
local shell = dofile "tests/support/shell.lua"
local function lines(arguments)
  return (shell.cuttle("scripts/bench/attention_bars.lua " .. arguments))
end
local path = shell.file [[return {decode = {{name = "few", template = "cuttle.attention_decode_mma", sm_from = 80,
  warps = 2, stages = 2, resident = 1}}}]]
local text = lines("--variants=" .. path)
os.remove(path)
for name in text:gmatch "\n?(%l%w+ [%dx]+ d64 %l+)\n" do print(name) end
-- expect: backward 1x1x40 d64 causal
-- expect: forward 1x1x40 d64 causal
-- expect: f8 1x1x40 d64 full
print(select(2, text:gsub("\n  %* [^\n]- 0 to plain", "")), text:find "WRONG")          -- expect: 15	nil
print(text:match "%* pages of 16, in order: plain", text:match "variant: few: [^\n]-warps 2")
-- expect: * pages of 16, in order: plain	variant: few: resident 1, sm_from 80, stages 2, warps 2
print(text:match "of 2 bars met, 0 wrong")                                             -- expect: of 2 bars met, 0 wrong
print((lines "--warm":gsub("^[^\n]-attention_bars: ", "")))
-- expect: there is no option '--warm'
-- expect:
