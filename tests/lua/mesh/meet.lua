-- What makes ranks of one process wait for each other takes a list of tensors; a text, which has a length too, is none.
package.path = "tests/support/?.lua;" .. package.path
local mesh = require "internal".mesh
print(pcall(mesh.meet, {zeros(f32, 4)}))    -- expect: true
print(pcall(mesh.meet, "text"))             -- expect: false	bad argument #1 to '?' (table expected, got string)
