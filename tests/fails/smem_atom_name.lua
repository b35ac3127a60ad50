print(smem_atom("SW128", f16))  -- expect error: smem_atom: there is no 'SW128'; expected K_ or MN_ with INTER, SW32, SW64 or SW128 behind it
