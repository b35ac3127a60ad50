print(atom"wmma")  -- expect error: atom: there is no atom 'wmma'; atoms() lists their names
