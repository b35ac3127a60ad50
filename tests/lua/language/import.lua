-- In scripts the names of the language are globals; require gives them in a table.
local ct = require "cuttle"
print(ct.layout == layout, ct._ == _)                -- expect: true	true
local env = ct.import({ print = print })
load("print(size(layout{4, 8}), threadIdx)", "=chunk", "t", env)()  -- expect: 32	threadIdx
print(_VERSION, ct._VERSION)                          -- expect: Lua 5.4	0.1.0
print(env._VERSION)                                   -- expect: nil
