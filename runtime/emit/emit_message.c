/* emit_message.c: printf and assert as CUDA C. In text for people, printf is CUDA's. In a launched
   kernel, printf leaves a record in the host's memory, and a wait formats it as the CPU engine
   does. The first failed assertion is noted in eight ints of the host's memory, and its thread
   ends; a trap would cost the whole context. */
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
    } else if (c < ' ' || c >= 127 || c == '?') {
      /* three digits, so that no digit can follow; '?' could begin a trigraph */
      ct_text_printf(&e->body, "\\%03o", c);
    } else {
      ct_text_putc(&e->body, (char)c);
    }
  }
  ct_text_putc(&e->body, '"');
}

static void put_printf(CtEmit *e, const CtEscape *message) {
  ct_text_puts(&e->body, "printf(");
  put_literal(e, message->text);
  for (int i = 0; i < message->n; i++) {
    bool is_bool = ct_inst(e->ir, message->vals[i])->type == CT_bool;
    ct_emit_put(e, is_bool ? ", %l ? \"true\" : \"false\"" : ", %c", message->vals[i]);
  }
}

/* Turns the values into words: a double by its bits. */
static void put_record(CtEmit *e, const CtEscape *message, int64_t number) {
  ct_text_printf(&e->body, "%s(%s, %s + %" PRId64, ct_emit_help(e, CT_HELP_PRINT_RECORD),
                 e->print_log, e->first_print, number);
  for (int i = 0; i < message->n; i++) {
    bool is_float = ct_inst(e->ir, message->vals[i])->type == CT_f64;
    ct_emit_put(e, is_float ? ", __double_as_longlong(%c)" : ", %c", message->vals[i]);
  }
}

void ct_emit_printf(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  ct_emit_begin(e, inst->loc);
  if (e->print_log != NULL) {
    put_record(e, inst->u.escape, inst->imm.i);
  } else {
    put_printf(e, inst->u.escape);
  }
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

static bool has_op(const CtIr *ir, CtOp op) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    if (ct_inst(ir, v)->op == op && ct_inst(ir, v)->region != 0) {
      return true;
    }
  }
  return false;
}

bool ct_emit_has_asserts(const CtIr *ir) { return ir->n_asserts > 0 && has_op(ir, CT_OP_ASSERT); }
bool ct_emit_has_prints(const CtIr *ir) { return ir->n_prints > 0 && has_op(ir, CT_OP_PRINT); }

/* Every thread that gets to such an assertion ends: it stands for error(message). */
static bool is_never_true(const CtEmit *e, CtVal cond) {
  const CtInst *inst = ct_inst(e->ir, cond);
  return inst->op == CT_OP_CONST && inst->imm.i == 0;
}

void ct_emit_assert(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool always = is_never_true(e, inst->args[0]);
  ct_emit_begin(e, inst->loc);
  if (!always) {
    ct_text_puts(&e->body, "if (");
    ct_emit_not(e, inst->args[0]);
    ct_text_puts(&e->body, ") { ");
  }
  ct_text_printf(&e->body, "%s(%s, %" PRId64 "); return;%s  // ",
                 ct_emit_help(e, CT_HELP_ASSERT_FAILED), e->fault, inst->imm.i + 1,
                 always ? "" : " }");
  for (const char *s = inst->u.escape->text; *s != '\0'; s++) {
    ct_text_putc(&e->body, (unsigned char)*s < ' ' || *s == '\\' ? ' ' : *s);
  }
  ct_emit_end(e);
}
