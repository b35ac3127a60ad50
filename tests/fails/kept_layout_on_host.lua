-- Nor can the host look at it.
local kept = {}
kernel("first", function(x) kept.l = x.layout end){grid = 1, block = 32}(zeros(f32, 32))
print(kept.l) -- expect error: a layout with run-time values was made in kernel 'first' (tests/fails/kept_layout_on_host.lua:3) and is used on the host; it exists only while that kernel is traced
