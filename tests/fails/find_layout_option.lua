find_layout({ 64, 8 }, 64, f16, { threads = 3 })  -- expect error: find_layout: there is no option 'threads'; there are order, rows, shared
