// welcome.js: the script of the first visit.
'use strict';

const WELCOME = `-- A layout and a kernel. Ctrl+Enter runs them. Picture draws
-- what is at the cursor. Other tabs show CUDA C, faults and costs.
local tiles = zipped_divide(layout({8, 8}, {8, 1}), {2, 4})
print(tiles)

local reverse = kernel("reverse", function(A)
  local s = shared(f32, layout{64})
  local i = threadIdx.x
  s[i] = A[i]
  sync_threads()         -- without this line, Check finds a race
  A[i] = s[63 - i]
end)

local A = arange(f32, {64})
reverse{grid = 1, block = 64}(A)
print(A)
`;
