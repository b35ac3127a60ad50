-- A function that exists only in kernels, called by the script.
local s = shared(f32, {32, 32}) -- expect error: 'shared' exists only inside a kernel
print(s)
