-- Guards belong to kernels.
local A = zeros(f32, 4)
guard(A) -- expect error: guard: A is a tensor of the host; guards exist only in kernels
