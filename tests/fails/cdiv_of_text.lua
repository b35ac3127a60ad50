-- cdiv takes numbers, or tables of them nested alike.
print(cdiv({ 10, 8 }, 4)) -- expect error: cdiv: a table is no integer; integers, or two tables nested alike, were expected
