local t = zeros(i8, 4)
t[0] = 200 -- expect error: t[0]: 200 does not fit i8; expected -128 to 127
