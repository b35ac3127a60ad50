print(complement("(4,2):(-1,4)"))  -- expect error: complement: stride -1 in layout (4,2):(-1,4) is negative; strides must be >= 0
