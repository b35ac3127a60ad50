print(size("(4,8)", "M-1"))  -- expect error: size: mode name: 'M-1' has a character that is no letter, digit or _; expected 1 to 10 letters, digits or _, the first no digit
