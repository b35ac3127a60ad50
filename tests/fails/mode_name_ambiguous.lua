-- Two modes of one name, equally deep.
local l = L"((M=8,K=4),(M=16,K=16))"
print(size(l, 1, "M"))  -- expect: 16
print(size(l, "M"))     -- expect error: size: mode 'M' of ((M=8,K=4),(M=16,K=16)):((1,8),(32,512)) is at paths {0,0} and {1,0}; give a path
