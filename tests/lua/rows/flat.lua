-- Rows without reductions of whole rows, of which any block does any part.
local rows = require "cuttle.rows"
local x = tensor(bf16, row_major{300, 4096})

-- A launch may begin while the one before it ends.
print(rows.swiglu:explain(x, x).shape,
  rows.swiglu:source(x, x):find("griddepcontrol.wait", 1, true) ~= nil)
-- expect: flat	true

-- A thread that reduces groups has fewer vectors than one that does not.
local twice = row_kernel("twice", function(row, v) return v + v end)
print(rows.quantize_mxfp8:explain(x).deep, twice:explain(x).deep)
-- expect: 2	4
