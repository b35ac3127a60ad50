-- Nor may a run-time value be among further arguments, and in a table of a table.
local count = static_fn(function(...) return select("#", ...) end)
local k = kernel("counted", function(x)
  x[0] = count(1, {{n = 2}, {n = {x[0] > 0.0}}}) -- expect error: static_fn: argument 2 holds a run-time value; the function runs once, while tracing: give it what is known then, or call it without static_fn
end)
k{grid = 1, block = 32}(zeros(f32, 32))
