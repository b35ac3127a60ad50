local t = zeros(f16, 12)
print(recast(tile(t, 3, 1), f64)) -- expect error: recast: the tensor begins at bit 48 of its memory, no multiple of the 64 of f64
