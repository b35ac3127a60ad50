explain("(4,8)", {coord = {3, 2}, text = true})
explain("(4,8)", {coord = {9, 2}}) -- expect error: explain: coord (9,2) is outside of (4,8)
