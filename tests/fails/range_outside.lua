-- A loop of the kernel on the host.
for i in range(8) do print(i) end -- expect error: 'range' exists only inside a kernel
