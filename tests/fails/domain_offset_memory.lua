-- Only coordinates are moved: memory behind the tensor's end is another's.
local A = zeros(f32, {4, 4})
domain_offset({1, 0}, A) -- expect error: domain_offset: A is no tensor of coordinates, as tma_tensor and identity_tensor make them; of one with memory take a tile or a slice
