-- A tuple is a table that prints as a tuple: scripts take it apart and change it.
local s = shape"(4,(2,3))"
print(type(s), #s, s[1], s[2], s[2][1])    -- expect: table	2	4	(2,3)	2
s[1] = 5
print(s, layout(s))                        -- expect: (5,(2,3))	(5,(2,3)):(1,(5,10))
print(tostring(_), layout{ { 1 } })        -- expect: _	((1)):((0))
