-- A loop that waits for what no thread will do.
local k = kernel("wait", function(t)
  while atomic_load(t, 0) == 0 do end -- expect error: deadlock: thread (0,0,0) of block (0,0,0) repeats the loop at line 3, and nothing that runs can end it
end)
k{grid = 1, block = 32}(zeros(i32, 4))
