-- The transpose of `scripts/bench/main.lua transpose`: accesses of 16 bytes alone, whole sectors, no conflicts.
device("cpu")
package.path = "scripts/bench/?.lua;" .. package.path
local bench = require "memory"
local print, quiet = print, function() end
_G.print = quiet
local p = profile(function() bench.transpose(1e12, 128) end, {sm = 90})
_G.print = print
for _, line in ipairs(p.kernels[1].lines) do
  for _, a in ipairs(line.accesses) do
    print(a.op, a.tensor, a.bits, a.space == "global" and a.sectors * 32 - a.bytes or a.conflicts)
  end
end
-- expect: load	A	128	0
-- expect: store	s	128	0
-- expect: load	s	128	0
-- expect: store	B	128	0
