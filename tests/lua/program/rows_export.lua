-- A kernel of rows as plain C: `export` of rms_norm compiles without a warning, and its twin for the
-- CPU gives the bits that the process gave.
local c = dofile "tests/support/plain_c.lua"

c.write("norm.lua", [[
local rows = require "cuttle.rows"
local x, w = randn(bf16, row_major{4, 256}), randn(bf16, 256)
local y, scale = zeros(bf16, row_major{4, 256}), zeros(f32, row_major{4, 1})
export(function(x, w, y, scale) rows.rms_norm(x, w, 1e-6, {out = {y, scale}}) end,
  {{x, w, y, scale}}, {name = "norm", sm = "90a", cpu = true})
]])
c.export "norm.lua"
c.compare "norm"
c.done()
