print(threadIdx.x)  -- expect error: 'threadIdx' exists only inside a kernel
