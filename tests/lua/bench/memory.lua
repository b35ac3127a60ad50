-- The kernels of `scripts/bench/main.lua transpose sum softmax layer_norm`, on small problems.
package.path = "scripts/bench/?.lua;" .. package.path
local bench = require "memory"
local real_print = print
local function show(f, ...)
  _G.print = function(line)
    real_print((line:gsub(": .-, (%u*%l*);.*", ": %1")))
  end
  f(1e9, ...)
  _G.print = real_print
end
show(bench.transpose, 128) -- expect: transpose 128^2: correct
show(bench.sum, 1 << 20)  -- expect: sum of 1048576, 16 x 1024 threads: correct
                          -- expect: sum of 1048576, 32 x 512 threads: correct
show(bench.softmax, 3)    -- expect: softmax 3x8192: correct
show(bench.layer_norm, 3) -- expect: layer norm 3x8192: correct
