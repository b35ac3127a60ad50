/* test_ptx_line.c: lines of PTX where functions were inlined: ptx_line.c. */
#include "runtime/device/ptx_line.h"

#include <string.h>

#include "tap.h"

static const char ptx[] = ".visible .entry k()\n"
                          "{\n"
                          "\t.loc\t1 7 3\n"
                          "\tbar.sync 0;\n"
                          "\t.loc\t2 20 3, function_name $L__info_string0, inlined_at 1 8 5\n"
                          "\t.loc\t2 4 1, function_name $L__info_string1, inlined_at 2 20 3\n"
                          "\tadd.f32 %f1, %f1, %f1;\n"
                          "\t.loc\t2 20 3, function_name $L__info_string0, inlined_at 1 9 5\n"
                          "\t.loc\t2 4 1, function_name $L__info_string1, inlined_at 2 20 3\n"
                          "\t.loc\t2 5 1, function_name $L__info_string1, inlined_at 2 99 3\n"
                          "\tret;\n"
                          "}\n"
                          "\t.file\t1 \"k.lua\"";
static const char want[] = ".visible .entry k()\n"
                           "{\n"
                           "\t.loc\t1 7 3\n"
                           "\tbar.sync 0;\n"
                           "\t.loc\t1 8 5\n"
                           "\t.loc\t1 8 5\n"
                           "\tadd.f32 %f1, %f1, %f1;\n"
                           "\t.loc\t1 9 5\n"
                           "\t.loc\t1 9 5\n"
                           "\t.loc\t2 99 3\n"
                           "\tret;\n"
                           "}\n"
                           "\t.file\t1 \"k.lua\"";

static void test_calls(void) {
  CtErr err;
  CtText out;
  ct_text_init(&out, ct_alloc_std);
  OK(ct_ptx_outer_lines(ptx, &out, &err) == CT_OK, "is read");
  IS_STR(ct_text_str(&out), want, "the outermost call of each, as the last place of it said");
  ct_text_clear(&out);
}

static void test_others(void) {
  static const char *const texts[] = {"", "\n", "\t.loc\n\t.loc 1\n.local .b8 x;\n", "no newline"};
  for (size_t i = 0; i < CT_ARRAY_LEN(texts); i++) {
    CtErr err;
    CtText out;
    ct_text_init(&out, ct_alloc_std);
    OK(ct_ptx_outer_lines(texts[i], &out, &err) == CT_OK, "other text %zu", i);
    IS_STR(ct_text_str(&out), texts[i], "stays as it is");
    ct_text_clear(&out);
  }
}

static void *metered(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  long *left = ud;
  if (new_bytes > 0 && (*left)-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

static void test_memory(void) {
  CtStatus status = CT_ENOMEM;
  bool is_clean = true;
  long n = 0;
  for (; n < 100 && status != CT_OK; n++) {
    CtErr err;
    CtText out;
    long left = n;
    ct_text_init(&out, (CtAlloc){metered, &left});
    status = ct_ptx_outer_lines(ptx, &out, &err);
    is_clean = is_clean && (status == CT_OK || status == CT_ENOMEM);
    ct_text_clear(&out);
  }
  OK(is_clean && status == CT_OK && n > 1, "memory that fails at any of %ld requests", n - 1);
}

int main(void) {
  test_calls();
  test_others();
  test_memory();
  return done_testing();
}
