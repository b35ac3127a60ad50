-- scripts/bench/main.lua matmul: a line for each problem and configuration, with a result that was checked.
local shell = dofile "tests/support/shell.lua"
local function lines(arguments)
  return (shell.cuttle("scripts/bench/main.lua matmul " .. arguments))
end
local n, n_right = 0, 0
for line in lines("--all f32 TN"):gmatch "[^\n]+" do
  n = n + 1
  local right = "^f32  TN 256x256x256 +[* ]cpu %d+x%d+x%d+ +[%d.]+ ms +[%d.]+ GFLOP/s  correct$"
  if line:match(right) then n_right = n_right + 1 end
end
print(n, n_right)                                  -- expect: 3	3
io.write(lines("f32 7000"))                        -- expect: matmul: no problem has all of these words: f32 7000
io.write((lines("--warm"):gsub("^cuttle: ", "")))  -- expect: bench matmul: there is no option '--warm'; there are --all, --config=NAME, --split=N and --cold=no, and words such as f32, NT and 4096
