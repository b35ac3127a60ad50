-- select picks modes of the top level.
local l = L"((a=2,b=3),K=4)"
print(select(l, "b"))  -- expect error: select: 'b' names a mode inside a mode of ((a=2,b=3),K=4):((1,2),6); a mode of its top level was expected
