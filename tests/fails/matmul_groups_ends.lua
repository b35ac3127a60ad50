local A, B = zeros(f32, {4, 5}), zeros(f32, {3, 5, 2})
local ends = from_table(i32, {3, 2})
matmul(A, B, {groups = ends:to(A.device)})  -- expect error: matmul: groups[1] is 2; expected an end from 3, that of the group before, to 4, the extent of M
