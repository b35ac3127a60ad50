-- What explain says of layouts into coordinates.
explain(identity_layout{2, 3})
-- expect: layout        (2,3):(1@0,1@1)
-- expect: modes         0       2:1@0  counts a coordinate
-- expect:               1       3:1@1  counts a coordinate
-- expect: values        coordinates, from (0,0) to (1,2)

-- The coordinate where a part begins, its second result, is no obstacle.
show(parallelize(identity_layout{2, 2}, "(2,1)", 1))
-- expect: (2,2):(1@0,1@1) among the threads (2,1):(1,0), thread 1
-- expect:          0       1
-- expect:   ┌────────────────┐
-- expect: 0 │   T0V0    T0V1 │
-- expect: 1 │ [T1V0]  [T1V1] │
-- expect:   └────────────────┘
explain(tile(identity_layout{2, 2}, "(2,1)", {0, 1}))
-- expect: layout        (2,1):(1@0,0)
-- expect: modes         0       2:1@0  counts a coordinate
-- expect:               1       1:0  one element
-- expect: made by       tile((2,2):(1@0,1@1), (2,1), (0,1)) = (2,1):(1@0,0)
-- expect:                 zipped_divide((2,2):(1@0,1@1), (2,1)) = ((2,1),(1,2)):((1@0,0),(0,1@1))
-- expect:                 its mode 0, the tile, is kept; tile number (0,1) of mode 1 is picked
-- expect: values        coordinates, from (0) to (1)
print(L"2:1":explain{text = true} == explain("2:1", {text = true}))
-- expect: true
