explain(identity{2, 2}, {tile = {4}}) -- expect error: explain: (2,2):(1@0,1@1) leads to coordinates; a thread-value layout leads to numbers of elements
