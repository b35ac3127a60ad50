-- A name that no mode has: the names that there are.
local l = L"(M=128,K=64):(1,128)"
print(size(l, "N"))  -- expect error: size: no mode is named 'N' in (M=128,K=64):(1,128); its modes are M, K
