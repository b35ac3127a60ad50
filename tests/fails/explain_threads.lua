explain("(4,8)", {thread = 0}) -- expect error: explain: (4,8):(1,4) is not shared among threads; of a thread-value layout give its tile, as in {tile = {8, 8}, thread = 0}
