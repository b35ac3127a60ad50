-- An exported kernel takes the strides that a launch in the process takes: that of a mode of one
-- element reaches nowhere, so it may be as long as a library likes, while the elements of a tensor
-- may reach no further than the kernel's offsets.
local tap = dofile "tests/support/tap.lua"
local cuttle, here = arg[-1], arg[0]:match "^(.*)tests/lua/" or "./"
local f = dofile "tests/support/folder.lua"
local run, write = f.run, f.write
cuttle, here = f.absolute(cuttle), f.absolute(here)

write("rows.lua", [[
local rows = kernel("rows", function(x, ys)
  for k in range(1, 3) do
    local y = ys[k]
    if threadIdx.x < size(x, 0) then y[{threadIdx.x, 0}] = x[{threadIdx.x, 0}] end
  end
end)
rows{grid = 1, block = 32}(rand(f32, {32, 3}), {zeros(f32, {32, 3}), zeros(f32, {32, 5})})
]])
local out, code = run(("CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere '%s' export --sm=90a --name=rows "
  .. "rows.lua"):format(cuttle))
tap.ok(code == 0, "rows.lua is exported", out)
if not os.execute "command -v cc > /dev/null 2>&1" then
  tap.done()
end

write("strides.c", [[
#include "rows.h"
#include <stdio.h>
#include <string.h>

static float memory[3][1024];

static rows_tensor matrix(float *data, int64_t columns, int64_t stride) {
  rows_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.dtype = ROWS_F32;
  t.rank = 2;
  t.shape[0] = 32;
  t.shape[1] = columns;
  t.stride[0] = 1;
  t.stride[1] = stride;
  return t;
}

static void launch(int64_t columns, int64_t x, int64_t y) {
  rows_dim3 grid = {1, 1, 1};
  rows_error error;
  rows_args args;
  rows_tensor ys[2];
  memset(&args, 0, sizeof args);
  ys[0] = matrix(memory[1], columns, y);
  ys[1] = matrix(memory[2], columns, y);
  args.x = matrix(memory[0], columns, x);
  args.ys.tensors = ys;
  args.ys.n = 2;
  rows_status status = rows_launch(&args, &grid, NULL, &error);
  printf("%d %s\n", status, error.text);
}

int main(void) {
  const int64_t far = (int64_t)1 << 40;
  launch(3, 32, 32);
  launch(1, far, far);
  launch(1, INT64_MAX - 3, 32);
  launch(2, far, 32);
  launch(2, 32, far);
  launch(1, -4, 32);
  return 0;
}
]])
local no_device <const> = "2 rows: no device"
local far <const> = ": its elements span more than the 536608766 that this kernel's offsets reach; "
  .. "export it with an example of that size"
local want <const> = {
  no_device, no_device, no_device, "1 rows: argument 1 (x)" .. far,
  "1 rows: argument 2 (ys)" .. far .. "; it is tensors[0] of the list",
  "1 rows: argument 1 (x): the stride of mode 1 is -4; 2 or more was expected",
}
out = run "cc -std=c11 -w strides.c rows.c -o strides -ldl -lpthread && ./strides"
tap.is(out:gsub("no device[^\n]*", "no device"), table.concat(want, "\n") .. "\n",
  "what a launch says of each pair of strides")
local law <const> = "cc -O1 -std=gnu11 -w -DEXPORTED='\"rows.c\"' -I. -I'%s' "
  .. "'%stests/export/process.c' '%sruntime/launch/terms.c' '%sruntime/base/dtype.c' "
  .. "-o process -ldl -lpthread -lm && ./process"
out, code = run(law:format(here, here, here, here))
tap.ok(code == 0 and out == "0 wrong\n", "it takes each tensor that the process takes", out)
tap.done()
