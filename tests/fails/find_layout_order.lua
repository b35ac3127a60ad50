find_layout({ 64, 8 }, 64, f16, { order = { 1 } })  -- expect error: find_layout: order is (1); "col", "row" or a stride for each of the 2 modes was expected
