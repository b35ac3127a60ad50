/* test_embed_memory.c: memory of a script's tensors, described to a host and held by it. */
#include "interp/cuttle.h"

#include <lauxlib.h>
#include <lua.h>

#include "tap.h"

enum { MAX_RANK = 4 };

typedef struct Look {
  cuttle_State *S;
  const char *name; /* of a global */
  int found;
  cuttle_Memory m;
  int64_t extents[2 * MAX_RANK];
  cuttle_Hold *hold;
} Look;

static int look(lua_State *L) {
  Look *k = lua_touserdata(L, 1);
  lua_getglobal(L, k->name);
  k->found = cuttle_describe(k->S, -1, &k->m, k->extents, MAX_RANK);
  k->hold = cuttle_hold(k->S, lua_gettop(L));
  return 0;
}

static Look look_at(cuttle_State *S, const char *name) {
  Look k = {.S = S, .name = name};
  if (cuttle_call(S, look, &k) != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
  }
  return k;
}

static void test_modes(cuttle_State *S, const char *layout, int rank, const int64_t *shape,
                       const int64_t *stride) {
  char text[128];
  snprintf(text, sizeof text, "t = zeros(f32, '%s')", layout);
  OK(cuttle_dostring(S, text, "=modes") == CUTTLE_OK, "a tensor %s", layout);
  Look k = look_at(S, "t");
  OK(k.found && k.m.rank == rank && k.m.dtype == CUTTLE_F32 && k.m.device == -1 &&
         memcmp(k.extents, shape, (size_t)rank * sizeof *shape) == 0 &&
         memcmp(k.extents + MAX_RANK, stride, (size_t)rank * sizeof *stride) == 0,
     "%s: its memory", layout);
  cuttle_drop(S, k.hold);
}

static void test_others(cuttle_State *S) {
  OK(cuttle_dostring(S, "n = 3 wide = zeros(f32, '(1,(2,3),2,(2,2)):(1,(16,4),100,(300,1000))')",
                     "=others") == CUTTLE_OK,
     "other values");
  Look k = look_at(S, "n");
  OK(!k.found && k.hold == NULL, "a number is no memory");
  k = look_at(S, "nothing");
  OK(!k.found && k.hold == NULL, "neither is nil");
  k = look_at(S, "wide");
  OK(!k.found, "more modes than there is room");
  cuttle_drop(S, k.hold);
}

static void test_hold(cuttle_State *S) {
  OK(cuttle_dostring(S, "t = zeros(f32, 8) t[3] = 5", "=hold") == CUTTLE_OK, "a tensor");
  Look k = look_at(S, "t");
  OK(cuttle_dostring(S, "t = nil collectgarbage() collectgarbage()", "=drop") == CUTTLE_OK,
     "that the script drops");
  const float *x = k.m.ptr;
  OK(k.hold != NULL && x != NULL && x[3] == 5.0f, "the host holds its memory");
  cuttle_drop(S, k.hold);
  cuttle_drop(S, NULL);
  static float lent[4];
  const int64_t shape[1] = {4}, stride[1] = {1};
  const cuttle_Memory m = {
      .ptr = lent, .shape = shape, .stride = stride, .rank = 1, .dtype = CUTTLE_F32, .device = -1};
  cuttle_Tensor *t = cuttle_tensor_lend(S, &m, NULL, NULL);
  lua_State *L = cuttle_lua(S);
  cuttle_push_tensor(S, t);
  lua_setglobal(L, "given");
  k = look_at(S, "given");
  OK(k.found && k.m.ptr == lent && k.hold == NULL, "what the host lent is not held");
  cuttle_tensor_close(S, t);
  k = look_at(S, "given");
  OK(!k.found, "and is no memory any more when it is closed");
}

/* What is known of each element type is what tensors of it have. */
static void test_dtypes(cuttle_State *S) {
  int n = 0;
  for (int t = 1; cuttle_dtype_info((cuttle_DType)t) != NULL; t++, n++) {
    const cuttle_DTypeInfo *info = cuttle_dtype_info((cuttle_DType)t);
    cuttle_Tensor *made = cuttle_tensor_new(S, info->name, "3");
    size_t bytes = info->per_byte > 1 ? 2 : 3 * (size_t)info->bytes;
    OK(made != NULL && cuttle_tensor_bytes(made) == bytes, "3 of %s", info->name);
    OK(info->bits <= 8 * info->bytes, "%s fits its place", info->name);
    cuttle_tensor_release(S, made);
  }
  IS_INT(n, CUTTLE_DTYPE_END - 1, "all of them are known");
  OK(cuttle_dtype_info((cuttle_DType)0) == NULL, "0 is none");
  const cuttle_DTypeInfo *bf16 = cuttle_dtype_info(CUTTLE_BF16);
  OK(strcmp(bf16->name, "bf16") == 0 && bf16->numpy == NULL && bf16->dlpack == 4, "of bf16");
  OK(strcmp(cuttle_dtype_info(CUTTLE_F16)->numpy, "<f2") == 0, "of f16");
}

int main(void) {
  cuttle_State *S = cuttle_open(&(cuttle_Options){.size = sizeof(cuttle_Options), .device = "cpu"});
  test_modes(S, "(4,8):(8,1)", 2, (const int64_t[]){4, 8}, (const int64_t[]){8, 1});
  test_modes(S, "(4,(2,3)):(6,(1,2))", 2, (const int64_t[]){4, 6}, (const int64_t[]){6, 1});
  test_modes(S, "(4,(2,3)):(1,(16,4))", 3, (const int64_t[]){4, 2, 3}, (const int64_t[]){1, 16, 4});
  test_modes(S, "7", 1, (const int64_t[]){7}, (const int64_t[]){1});
  test_others(S);
  test_hold(S);
  test_dtypes(S);
  cuttle_close(S);
  return done_testing();
}
