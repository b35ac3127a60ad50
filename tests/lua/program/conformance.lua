-- scripts/conformance.lua finds what is wrong: each rule of the vectors' README, kept and broken.
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
local folder = shell.folder()

local function run(rows)
  local file = assert(io.open(folder .. "/rows.lua", "w"))
  file:write("return {", rows, "}")
  file:close()
  local pipe = io.popen(("'%s' scripts/conformance.lua '%s'"):format(cuttle, folder))
  local last, n = nil, 0
  for line in pipe:lines() do
    last, n = line, n + 1
  end
  local _, _, code = pipe:close()
  return last, n, code
end

print(run [[{op="size", a="(4,8):(1,4)", want=32},
  {op="slice", a="(4,8):(1,4)", crd="(_,2)", want="(4):(1)", offset=8}]])
-- expect: 2 passed, 0 failed	1	0
print(run [[{op="size", a="(4,8):(1,4)", want=33}]])                    -- expect: 0 passed, 1 failed	2	1
print(run [[{op="slice", a="(4,8):(1,4)", crd="(_,2)", want="(4):(1)", offset=9}]])  -- expect: 0 passed, 1 failed	2	1
print(run [[{op="coalesce", a="(4,8):(1,4)", want="(4,8):(1,4)", want_fn={0,1,2}}]])  -- expect: 0 passed, 1 failed	2	1
print(run [[{op="coalesce", a="(2,2):(1,2)", want="(2,2):(1,2)", want_fn={0,1,2,3}}]])  -- expect: 1 passed, 0 failed	1	0
print(run [[{op="composition", a="6:1", b="4:1", error=true}]])         -- expect: 0 passed, 1 failed	2	1
print(run [[{op="complement", a="(2,2):(2,3)", error=true}]])           -- expect: 1 passed, 0 failed	1	0
print(run [[{op="composition", a="6:1", b="4:1", tag="quirk", cute="4:2", want_fn={0,2}}]])  -- expect: 0 passed, 1 failed	2	1
print(run [[{op="composition", a="6:1", b="4:1", tag="past_end", want="4:2", alt="4:1"}]])  -- expect: 1 passed, 0 failed	1	0
print(run [[{op="composition", a="4:-1", b="2:1", tag="negative_stride", want="2:1"}]])  -- expect: 0 passed, 1 failed	2	1
print(run [[{op="right_inverse", a="4:-1", tag="negative_stride", want="1:0"},
  {op="rank", a="4:1", want=1}]])
-- expect: 1 passed, 0 failed	2	0
print(run [[{op="composed_flatten", sw="Sw<1,0,1>", a="4:1", want="Sw<1,0,1> o 0 o 4:1"}]])  -- expect: 1 passed, 0 failed	1	0
print(run [[{op="no_such_thing", a="4:1", want="4:1"}]])                -- expect: 0 passed, 1 failed	2	1
print(run [[{op="copy_bit", thr=14, val=42, name="SM75_U32x4_LDSM_N", side="src", want=1834}]])  -- expect: 1 passed, 0 failed	1	0
print(run [[{op="copy_bit", thr=14, val=42, name="SM75_U32x4_LDSM_N", side="src", want=1835}]])  -- expect: 0 passed, 1 failed	2	1
print(run [[{op="mma_atom"}, {op="rank", a="4:1", want=1}]])            -- expect: 1 passed, 1 failed	2	1
print(run [[}]])                                                        -- expect: 0 passed, 1 failed	2	1
os.remove(folder .. "/rows.lua")
os.remove(folder)
