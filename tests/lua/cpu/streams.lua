-- On the CPU engine each launch is over when it returns: streams run in order, and events are times.
local s, other, first, last = stream(), stream(), event(), event()
local add = kernel("add", function(x, n) x[0] = 2 * x[0] + n end)
local x = zeros(f32, 1)
first:record(s)
for i = 1, 3 do add{grid = 1, block = 1, stream = s}(x, i) end
last:record(s)
other:wait(last)
add{grid = 1, block = 1, stream = other}(x, 100)
s:synchronize()
last:synchronize()
print(x[0], first:elapsed(last) >= 0)                     -- expect: 122.0	true
local again = add{grid = 1, block = 1, stream = s}
again(x, 0)
local g = graph(function() again(x, 1) end)
g()
print(x[0])                                               -- expect: 489.0
s:close()
s:close()
print((select(2, pcall(again, x, 1)):gsub("^.-: ", "")))                -- expect: the stream is closed
print((select(2, pcall(other.wait, other, s)):match "wait: an event was expected, got a stream")) -- expect: wait: an event was expected, got a stream
first:close()
print((select(2, pcall(first.record, first)):gsub("^.-: ", "")))        -- expect: the event is closed
local mark = event():record(other)
mark:wait()
mark:wait(other)
print((select(2, pcall(mark.wait, mark, mark)):match "wait: a stream was expected, got an event")) -- expect: wait: a stream was expected, got an event
