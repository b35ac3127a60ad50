-- On the host no thread is there to run an instruction.
copy(atom("UniversalCopy<u128>", f32), zeros(f32, 4), zeros(f32, 4)) -- expect error: copy: atoms copy in kernels; on the host write copy(src, dst)
