-- A barrier on the host: the innermost line of the script is blamed.
local function wait()
  sync_threads() -- expect error: 'sync_threads' exists only inside a kernel
end
for _ = 1, 3 do wait() end
