-- docs/reference.md is what the annotations in stdlib/meta say.
local file = assert(io.open("docs/reference.md"))
local text = file:read("a")
file:close()
local is_current = text == dofile("scripts/gen_docs.lua")
print(is_current or "docs/reference.md is not what stdlib/meta says: run `make docs`")  -- expect: true
