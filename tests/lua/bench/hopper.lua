-- scripts/bench/main.lua hopper on the CPU engine: rows without a library beside them; and what it does with data.
local shell = dofile "tests/support/shell.lua"
local function lines(arguments)
  return (shell.cuttle("scripts/bench/main.lua hopper " .. arguments))
end
local text = lines("--regime=eq --rounds=1 --config='cpu 64x64x32' f16")
print((text:match "f16 128x64x32\n.-\n"))
-- expect: f16 128x64x32
-- expect:   TFLOP/s, ratios                         EQ default      Lt     MHz     W  bits, error
-- expect:
print(text:match "%* cpu %d+x%d+x%d+ +[%d.e-]+ +- +- +- +- +" ~= nil) -- expect: true
print(text:match "\n0 of 0 bars met, 0 wrong, %d+ s\n$" ~= nil) -- expect: true
print(lines("majors --regime=eq --rounds=1 tf32 NN"):match "tf32 %w+ %w+") -- expect: tf32 NN 64x64x64
io.write(lines("7000 --quick | tail -n 2 | head -n 1")) -- expect: hopper: no row has all of these words: 7000
io.write((lines("--warm"):gsub("^cuttle: ", "")))  -- expect: bench hopper: there is no option '--warm'; there are --quick, --all, --config=NAME, --regime=NAME, --lt=N, --rounds=N and --help
io.write((lines("--lt=0"):gsub("^cuttle: ", "")))  -- expect: bench hopper: '--lt=0' has no number; expected one from 1
io.write((lines("--regime=x"):gsub("^cuttle: ", "")))  -- expect: bench hopper: there is no regime 'x'; there are sus, bur and eq, and of attention one
print(lines("--help"):match "^[^:]+")              -- expect: main.lua hopper [option ...] [word ...]
local pipe = io.popen(("'%s' scripts/bench/main.lua --help"):format(arg[-1]))
print(pipe:read "l":match "^[^:]+")                  -- expect: cuttle scripts/bench/main.lua [name ...]
pipe:close()
