/* test_export.c: sizes as C, as exported files have them. */
#include "interp/export/describe.h"
#include "runtime/ir/ir_make.h"
#include "tap.h"

static CtErr err;

/* n ~ 3, four times that, and so on: `depth` operations within each other. */
static CtStatus write_nested(int depth, CtText *out) {
  static const int64_t block[3] = {32, 1, 1};
  CtIr ir;
  ct_ir_init(&ir, ct_alloc_std, (CtTarget){.shared_max = 1 << 16, .name = "test"}, block);
  CtVal n = ct_ir_number(&ir, "n", CT_i32, (CtFacts){0, 1 << 20, 1});
  CtVal v = n;
  for (int i = 0; i < depth; i++) {
    v = ct_ir_binary(&ir, i % 2 == 0 ? CT_OP_XOR : CT_OP_MUL, v,
                     ct_ir_const_int(&ir, CT_i32, i + 3));
  }
  CtStatus status = export_expression(&ir, v, out, &err);
  ct_ir_clear(&ir);
  return status;
}

static void writes(int depth, const char *want) {
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  IS_INT(write_nested(depth, &t), CT_OK, "%d operations", depth);
  IS_STR(ct_text_str(&t), want, "%d operations as C", depth);
  ct_text_clear(&t);
}

int main(void) {
  CtText t;
  writes(0, "s[0]");
  writes(1, "(s[0] ^ INT64_C(3))");
  writes(2, "((s[0] ^ INT64_C(3)) * INT64_C(4))");
  ct_text_init(&t, ct_alloc_std);
  IS_INT(write_nested(200, &t), CT_OK, "two hundred");
  IS_INT(write_nested(201, &t), CT_EUNSUPPORTED, "one more is refused");
  HAS_STR(err.msg, "which export cannot write as C", "with the reason");
  ct_text_clear(&t);
  return done_testing();
}
