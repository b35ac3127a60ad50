-- The lines of a kernel whose chunk has a name too long to be opened again: they have no text, and profile, its page,
-- trace and the picture of a timeline do without.
local text = "return kernel(function(A) A[threadIdx.x] = A[threadIdx.x] + 1.0 end)"
local k = load(text, "@" .. ("folder/"):rep(20) .. "file.lua")()
local A = ones(f32, 32)
local p = profile(function() k{grid = 1, block = 32}(A) end)
local line = p.kernels[1].lines[1]
print(line.file:match "%w+%.lua", line.line, line.source) -- expect: file.lua	1	nil
print(#p:html() > 0)                                      -- expect: true
print(#timeline(k{grid = 1, block = 32}, {}, A):svg() > 0) -- expect: true
print(#tostring(trace(k{grid = 1, block = 32}, {A = {5}}, A)) > 0) -- expect: true
