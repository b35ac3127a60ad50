/* emit_message.c: printf and assert as CUDA C. A failed assertion is noted in eight ints of the host's
   memory, the first one that comes, and its thread ends; a trap would cost the whole context. */
#include <inttypes.h>

#include "emit.h"

/* A text as a literal of C. */
static void put_literal(CtEmit *e, const char *text) {
  ct_text_putc(&e->body, '"');
  for (const char *s = text; *s != '\0'; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') {
      ct_text_printf(&e->body, "\\%c", c);
    } else if (c == '\n') {
      ct_text_puts(&e->body, "\\n");
    } else if (c < ' ' || c >= 127 || c == '?') { /* no digit can follow, nor a trigraph begin */
      ct_text_printf(&e->body, "\\%03o", c);
    } else {
      ct_text_putc(&e->body, (char)c);
    }
  }
  ct_text_putc(&e->body, '"');
}

static void put_operand(CtEmit *e, CtVal v) {
  bool is_bool = ct_inst(e->ir, v)->type == CT_bool;
  ct_emit_expr(e, v, is_bool ? CT_PREC_LOR : CT_PREC_COND);
  ct_text_puts(&e->body, is_bool ? " ? \"true\" : \"false\"" : "");
}

void ct_emit_printf(CtEmit *e, const CtInst *inst) {
  const CtEscape *message = inst->u.escape;
  ct_emit_begin(e, inst->loc);
  ct_text_puts(&e->body, "printf(");
  put_literal(e, message->text);
  for (int i = 0; i < message->n; i++) {
    ct_text_puts(&e->body, ", ");
    put_operand(e, message->vals[i]);
  }
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

bool ct_emit_has_asserts(const CtIr *ir) {
  for (CtVal v = 1; v < ir->n_insts && ir->n_asserts > 0; v++) {
    if (ct_inst(ir, v)->op == CT_OP_ASSERT && ct_inst(ir, v)->region != 0) {
      return true;
    }
  }
  return false;
}

void ct_emit_assert(CtEmit *e, const CtInst *inst) {
  ct_emit_begin(e, inst->loc);
  ct_text_puts(&e->body, "if (");
  ct_emit_not(e, inst->args[0]);
  ct_text_printf(&e->body, ") { %s(%s, %" PRId64 "); return; }  // ",
                 ct_emit_help(e, CT_HELP_ASSERT_FAILED, "assert_failed"), e->fault,
                 inst->imm.i + 1);
  for (const char *s = inst->u.escape->text; *s != '\0'; s++) {
    ct_text_putc(&e->body, (unsigned char)*s < ' ' || *s == '\\' ? ' ' : *s);
  }
  ct_emit_end(e);
}
