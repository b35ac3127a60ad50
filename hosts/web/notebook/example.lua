-- # A notebook of layouts
-- Each cell is an expression or a statement. Its value appears below it, its picture beside it.
-- What you change runs at once. `Enter` begins a new cell, `Ctrl+/` turns a cell into a string like
-- this one, and the button `Keys` lists the rest.

-- ## Layouts
-- A layout maps coordinates to indices: a shape, and a stride for each of its modes.

A = L"(8,8):(8,1)"
print(A(2, 3)) --=
print(L"((2,4),8):((1,16),2)") --:
print(coalesce("(2,(1,6)):(1,(6,2))")) --=

-- ## Composition
-- `composition(A, B)` takes the elements that B names, in its order: here every second row.

print(composition(A, "(4,8):(2,8)")) --=

-- ## Tiles
-- A division puts the elements of a tile into the first mode, and the tiles into the second. In the
-- picture, one colour is one tile.

tiles = zipped_divide(A, {2, 4})
print(tiles(_, 3)) --=
print(logical_divide(A, {2, 4})) --=

-- ## Who owns an element
-- A tiled copy says which thread copies which elements. This one has 32 threads with 4 values each.

vectors = atom("UniversalCopy<u128>", f32)
print(tiled_copy(vectors, {8, 4}, {1, 4})) --=

-- ## Banks
-- The columns of a row-major tile lie in few banks of shared memory. A swizzle spreads them.

print(L"Sw<2,0,3> o 0 o (8,8):(8,1)") --:

-- ## Tensor cores
-- An MMA atom multiplies small tiles. The picture shows the thread and the value of each element.

mma = atom("SM80_16x8x16_F32F16F16F32_TN")
explain(mma)

-- ## Many devices
-- A sharding spreads a tensor over a mesh of devices: here rows over `data`, columns over `model`.

m = mesh{data = 2, model = 2}
print(m:sharding({8, 8}, "(M@data,N@model)")) --=
