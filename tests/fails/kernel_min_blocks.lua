-- Blocks of a multiprocessor are at most 32.
kernel("k", function() end, { min_blocks = 33 }) -- expect error: kernel: min_blocks is 33; an integer from 1 to 32 was expected
