-- A barrier after the stores does not help: the two halves of a byte in shared memory are stored at once.
local k = kernel("ones", function(y)
  local s, t = shared(f4e2m1, 64), threadIdx.x
  s[t] = f4e2m1(1.0) -- finds: race: thread (0,0,0) and thread (1,0,0) of block (0,0,0) write to s at offset 0 of 32 at once: a store to an element of 4 bits reads its byte and writes it back, and the byte has two elements; let one thread store both, as by copy from a fragment of 2 elements
  sync_threads()
  y[t] = cast(s[63 - t], f32)
end)
k{grid = 1, block = 64}(zeros(f32, 64))
