-- A name that is none in CUDA C.
kernel("my kernel", function() end) -- expect error: kernel: the name is 'my kernel'; letters, digits and '_' were expected
