-- What explain says of layouts into coordinates.
explain(identity{2, 3})
-- expect: layout        (2,3):(1@0,1@1)
-- expect: modes         0       2:1@0  counts a coordinate
-- expect:               1       3:1@1  counts a coordinate
-- expect: values        coordinates, from (0,0) to (1,2)
