-- values() lists the indices in order.
print(table.concat(L"(2,3):(3,1)":values(), " "))        -- expect: 0 3 1 4 2 5
print(table.concat(L"((2,2),2):((1,4),2)":values(), " "))  -- expect: 0 1 4 5 2 3 6 7
