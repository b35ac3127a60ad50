print(zipped_divide("(M=4,K=8)", "(M=2,K=2)"))  -- expect error: zipped_divide: tile sizes have no names, shapes have; unexpected name at column 0 of '(M=2,K=2)'
