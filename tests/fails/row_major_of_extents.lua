-- row_major(4, 8) would be row_major(4).
print(row_major(4, 8)) -- expect error: row_major: 2 arguments; one shape was expected: row_major{4, 8}
