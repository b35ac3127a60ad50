print(#atoms{arch = 80})  -- expect error: atoms: 'arch' is no filter; expected kind, family, sm or dtype
