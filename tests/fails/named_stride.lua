print(L"(M=4,K=8):(M=8,K=1)")  -- expect error: layout: strides have no names; unexpected name at column 11 of '(M=4,K=8):(M=8,K=1)'
