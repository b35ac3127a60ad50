print(L"(M=4,K=8)"("(M=1,K=2)"))  -- expect error: tuple: only the modes of a shape have names; unexpected name at column 1 of '(M=1,K=2)'
