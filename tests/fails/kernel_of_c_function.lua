-- A function written in C has no text to trace.
kernel("k", print) -- expect error: kernel: argument 2 is a function written in C; a Lua function was expected
