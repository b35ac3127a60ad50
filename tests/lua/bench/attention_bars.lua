-- scripts/bench/attention_bars.lua on the CPU engine: small rows, without peers; and one of ours with
-- a configuration of a file.
local function lines(arguments)
  local command = ("CUTTLE_DEVICE=cpu '%s' scripts/bench/attention_bars.lua %s 2>&1"):format(
    arg[-1], arguments)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  pipe:close()
  return text
end
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write [[return {decode = {{name = "few", template = "cuttle.attention_decode_mma", sm_from = 80,
  warps = 2, stages = 2, resident = 1}}}]]
file:close()
local text = lines("--variants=" .. path)
os.remove(path)
for name in text:gmatch "\n?(%l%w+ [%dx]+ d64 %l+)\n" do print(name) end
-- expect: backward 1x1x40 d64 causal
-- expect: forward 1x1x40 d64 causal
-- expect: f8 1x1x40 d64 full
print(select(2, text:gsub("\n  %* [^\n]- 0 to plain", "")), text:find "WRONG")          -- expect: 13	nil
print(text:match "%* pages of 16, in order: plain", text:match "variant: few: [^\n]-warps 2")
-- expect: * pages of 16, in order: plain	variant: few: resident 1, sm_from 80, stages 2, warps 2
print(text:match "of 2 bars met, 0 wrong")                                             -- expect: of 2 bars met, 0 wrong
print((lines "--warm":gsub("^[^\n]-attention_bars: ", "")))
-- expect: there is no option '--warm'
-- expect:
