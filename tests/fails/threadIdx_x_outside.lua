-- An index of threads on the host.
print(2 * threadIdx.x) -- expect error: 'threadIdx' exists only inside a kernel
