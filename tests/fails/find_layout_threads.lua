find_layout({ 128, 64 }, 2048, f16)  -- expect error: find_layout: the number of threads is 2048; an integer from 1 to 1024 was expected
