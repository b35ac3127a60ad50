/* test_embed_arguments.c: what hosts give to cuttle.h: every element type, layouts that reach too far,
   names and scripts whose messages would have several lines. */
#include "interp/cuttle.h"
#include "runtime/base/dtype.h"
#include "tap.h"

static char header[32768];

static void read_header(void) {
  FILE *f = fopen("interp/cuttle.h", "rb");
  size_t n = f == NULL ? 0 : fread(header, 1, sizeof header - 1, f);
  header[n] = '\0';
  if (f != NULL) {
    fclose(f);
  }
}

static cuttle_State *open_cpu(void) {
  cuttle_Options o = {.size = sizeof o, .device = "cpu", .no_environment = 1};
  return cuttle_open(&o);
}

static void test_dtypes(cuttle_State *S) {
  static _Alignas(16) char memory[64];
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    const char *name = ct_dtypes[t].name;
    char quoted[24];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    cuttle_Tensor *x = cuttle_tensor_wrap(S, memory, name, "4:1", NULL, NULL, NULL);
    OK(x != NULL && cuttle_tensor_bytes(x) == (size_t)ct_dtype_span((CtDtype)t, 4),
       "a tensor of %s", name);
    HAS_STR(header, quoted, "cuttle.h names %s", name);
    cuttle_tensor_release(S, x);
  }
}

static void test_far_layouts(cuttle_State *S) {
  static const char *const layouts[] = {"2:9223372036854775807",
                                        "(2,2):(4611686018427387904,4611686018427387903)"};
  static char memory[1];
  for (size_t i = 0; i < CT_ARRAY_LEN(layouts); i++) {
    OK(cuttle_tensor_wrap(S, memory, "bool", layouts[i], NULL, NULL, NULL) == NULL, "%s is refused",
       layouts[i]);
    HAS_STR(cuttle_error(S), "cuttle_tensor_wrap: layout", "with a message");
  }
}

static void test_one_line(cuttle_State *S) {
  OK(cuttle_kernel(S, "a\nb\t\x01") == NULL, "a kernel whose name has two lines");
  HAS_STR(cuttle_error(S), "no kernel called 'a; b", "is told of");
  OK(strpbrk(cuttle_error(S), "\n\t\x01") == NULL, "on one line");
  OK(cuttle_dostring(S, "error('one\\ntwo\\r\\nthree', 0)", "=x") == CUTTLE_ERROR,
     "a script's lines");
  IS_STR(cuttle_error(S), "one; two ; three", "are put on one");
  OK(cuttle_dostring(S, "error(('x\\n'):rep(4000), 0)", "=x") == CUTTLE_ERROR, "very many lines");
  OK(strlen(cuttle_error(S)) > 1000 && strchr(cuttle_error(S), '\n') == NULL, "are cut");
}

int main(void) {
  cuttle_State *S = open_cpu();
  read_header();
  test_dtypes(S);
  test_far_layouts(S);
  test_one_line(S);
  cuttle_close(S);
  return done_testing();
}
