-- Shardings: specs, their texts, parts and owners.
local m = mesh{data = 2, model = 4}

local function line(shape, spec)
  local s = m:sharding(shape, spec)
  assert(m:sharding(s.shape, s:text()) == s)
  print(s:text(), s:layout(), s:part_layout(), s:part_view(7))
end

line({1000, 64}, "(M@data,K)") -- expect: (M@data,K)	(M=(500,2),K=64):((1@0,1@1),500@0)	(M=500,K=64):(1,500)	(M=500,K=64):(1,500)
line({1000, 64}, "(M@data@model,K)") -- expect: (M@data@model,K)	(M=(125,2,4),K=64):((1@0,1@1,1@2),125@0)	(M=125,K=64):(1,125)	(M=125,K=64):(1,125)
line({1000, 64}, "(M@model,_,@data+)") -- expect: (M@model,_,@data+)	(M=(250,4),64):((1@0,1@2),250@0)	(M=250,64):(1,250)	(M=250,64):(1,250)
line({1024, 64}, "((256,4),64):((1,1@model),256)") -- expect: (_@model,_)	((256,4),64):((1@0,1@2),256@0)	(256,64):(1,256)	(256,64):(1,256)
line({1024, 64}, L"((256,4),64):((1@0,1@2),256@0)") -- expect: (_@model,_)	((256,4),64):((1@0,1@2),256@0)	(256,64):(1,256)	(256,64):(1,256)
line({1024, 64}, "(M=(4,256),K=64,@data+):((1@model,1),256)") -- expect: (M=(4,256),K=64,@data+):((1@model,1),256)	(M=(4,256),K=64):((1@2,1@0),256@0)	(M=256,K=64):(1,256)	(M=256,K=64):(1,256)

-- A mode that is an axis.
line({256, 4}, "(M=256,gpu@model=4)") -- expect: (M,gpu@model)	(M=256,gpu=4):(1@0,1@2)	(M=256,gpu=1):(1,0)	(M=256,gpu=1):(1,0)
line({4, 256}, "(gpu@model=4,M=256):(1,4)") -- expect: (gpu@model,M)	(gpu=4,M=256):(1@2,1@0)	(gpu=1,M=256):(0,1)	(gpu=1,M=256):(0,1)
line(nil, "(gpu@model=4,M=(32,8)):(1@model,(8,1))") -- expect: (gpu=4,M=(32,8)):(1@model,(8,1))	(gpu=4,M=(32,8)):(1@2,(8@0,1@0))	(gpu=1,M=(32,8)):(0,(8,1))	(gpu=1,M=(32,8)):(0,(8,1))

-- The same as layouts, whose names may say the axis.
print(L"(M=256,gpu@model=4)") -- expect: (M=256,gpu@model=4):(1,256)
line({256, 4}, L"(M=256,gpu@model=4)") -- expect: (M,gpu@model)	(M=256,gpu=4):(1@0,1@2)	(M=256,gpu=1):(1,0)	(M=256,gpu=1):(1,0)
line(nil, L"(M@data=8,K=4):(4,1)") -- expect: (M=(4,2),K=4):((4,1@data),1)	(M=(4,2),K=4):((4@0,1@1),1@0)	(M=4,K=4):(4,1)	(M=4,K=4):(4,1)
line(L"(M@data=8,K=4)", "(M,K@model)") -- expect: (M,K@model)	(M=8,K=4):(1@0,1@2)	(M=8,K=1):(1,0)	(M=8,K=1):(1,0)

-- Names of all characters are kept.
for _, name in ipairs { "abcdefghij", "klmnopqrst", "uvwxyzABCD", "EFGHIJKLMN", "OPQRSTUVWX",
  "YZ01234567", "_89_@_@__9", "zzzzzzzzzz", "Z999999999", "_@@" } do
  local ok, l = pcall(L"4:1".named, L"4:1", name)
  print(ok and l:names()[1] == name)
end
-- expect: true
-- expect: true
-- expect: true
-- expect: true
-- expect: true
-- expect: true
-- expect: true
-- expect: true
-- expect: true
-- expect: false

-- A sharding is a spec of itself, whatever memory the tensor has.
local s = m:sharding({8, 4}, "(M@data,K)")
print(m:sharding(row_major{8, 4}, s) == s, m:sharding(nil, s) == s) -- expect: true	true
print(m:plan(f32, nil, s, m:sharding({8, 4}, "(M@data,K@model)")).bytes) -- expect: 0
