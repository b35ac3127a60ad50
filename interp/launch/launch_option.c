/* launch_option.c: what other languages call the options of a launch. */
#include <string.h>

#include "launch.h"

const char *launch_option_of(lua_State *L, int key) {
  static const struct {
    const char *theirs, *ours;
  } rows[] = {{"threads", "block"},   {"num_threads", "block"}, {"block_size", "block"},
              {"blockDim", "block"},  {"num_warps", "block"},   {"num_blocks", "grid"},
              {"grid_size", "grid"},  {"gridDim", "grid"},      {"shared", "smem"},
              {"shared_mem", "smem"}, {"shared_memory", "smem"}};
  if (lua_isinteger(L, key)) {
    return "grid = ..., block = ...";
  }
  for (size_t i = 0; lua_type(L, key) == LUA_TSTRING && i < CT_ARRAY_LEN(rows); i++) {
    if (strcmp(rows[i].theirs, lua_tostring(L, key)) == 0) {
      return rows[i].ours;
    }
  }
  return NULL;
}
