-- The host cannot look at it either.
local kept = {}
kernel("first", function() kept.i = threadIdx.x end){grid = 1, block = 32}()
print(kept.i + 1) -- expect error: a run-time value was made in kernel 'first' (tests/fails/kept_value_on_host.lua:3) and is used on the host; it exists only while that kernel is traced
