-- Names beside each other differ, also from one that is there already.
print(L"(M=4,K=8)":named("K", "M"))  -- expect: (K=4,M=8):(1,4)
print(L"(M=4,K=8)":named("K", _))    -- expect error: named: modes 0 and 1 of (M=4,K=8):(1,4) would both be 'K'; names beside each other must differ
