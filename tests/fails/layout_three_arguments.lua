layout(4, 8)
layout(4, 8, 2) -- expect error: layout: 3 arguments; a shape and strides were expected, each of several modes as in layout({4, 8}, {8, 1})
