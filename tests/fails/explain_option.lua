explain("4:1", { tiles = 3 }) -- expect error: explain: there is no option 'tiles'; coord, dtype, offset, text, thread and tile are
