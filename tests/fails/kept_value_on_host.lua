-- The host cannot look at it either.
local kept = {}
kernel("first", function() kept.i = threadIdx.x end){grid = 1, block = 32}()
print(kept.i + 1) -- expect error: a run-time value was kept from a kernel whose trace has ended
