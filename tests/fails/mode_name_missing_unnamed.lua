print(mode("(4,8)", "M"))  -- expect error: mode: no mode is named 'M' in (4,8):(1,4); its modes have no names
