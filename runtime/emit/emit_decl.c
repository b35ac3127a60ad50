/* emit_decl.c: declarations of values, pointers and variables, and the names they get. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

/* What the result of an operation is called. */
static const char *const results[CT_OP_COUNT] = {
    [CT_OP_ADD] = "sum",        [CT_OP_FMA] = "sum",      [CT_OP_SUB] = "difference",
    [CT_OP_MUL] = "product",    [CT_OP_DIV] = "quotient", [CT_OP_FLOORDIV] = "quotient",
    [CT_OP_FLOORMOD] = "rest",  [CT_OP_MAX] = "highest",  [CT_OP_MIN] = "lowest",
    [CT_OP_SELECT] = "chosen",  [CT_OP_EQ] = "is_equal",  [CT_OP_NE] = "differs",
    [CT_OP_SHFL] = "from_lane", [CT_OP_NEG] = "negated",  [CT_OP_SQRT] = "root"};

/* The name of an operand that has one; NULL: it has none. */
static const char *name_of(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  return inst->op == CT_OP_PARAM ? e->slot_names[inst->imm.i] : e->vals[v].name;
}

enum { SHORT_NAME = 24 };

/* "tid_x_mod_32": index arithmetic that needs a name is often a name and a constant. */
static bool describe_sum(const CtEmit *e, const CtInst *inst, char *out, size_t size) {
  static const char *const words[CT_OP_COUNT] = {[CT_OP_FLOORDIV] = "div",
                                                 [CT_OP_FLOORMOD] = "mod",
                                                 [CT_OP_MUL] = "times",
                                                 [CT_OP_ADD] = "plus"};
  const char *word = words[inst->op];
  if (word == NULL || !ct_is_int((CtDtype)inst->type)) {
    return false;
  }
  const char *left = name_of(e, inst->args[0]);
  const CtInst *by = ct_inst(e->ir, inst->args[1]);
  if (left == NULL || strlen(left) >= SHORT_NAME || by->op != CT_OP_CONST ||
      by->imm.i == INT64_MIN) {
    return false;
  }
  bool minus = by->imm.i < 0;
  snprintf(out, size, "%s_%s_%" PRId64, left, minus && inst->op == CT_OP_ADD ? "minus" : word,
           minus ? -by->imm.i : by->imm.i);
  return !minus || inst->op == CT_OP_ADD;
}

/* "r_3" for r[3], "sinks_head" for sinks[head] */
static bool describe_load(const CtEmit *e, const CtInst *inst, char *out, size_t size) {
  if (inst->op != CT_OP_LOAD) {
    return false;
  }
  const char *buf = e->buf_names[inst->imm.i], *index = name_of(e, inst->args[0]);
  const CtInst *at = ct_inst(e->ir, inst->args[0]);
  if (at->op == CT_OP_CONST && at->imm.i >= 0) {
    snprintf(out, size, "%.40s_%" PRId64, buf, at->imm.i);
  } else {
    snprintf(out, size, "%.40s_%.40s", buf, index != NULL ? index : "value");
  }
  return true;
}

static void describe(const CtEmit *e, CtVal v, char *out, size_t size) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtEmitVal *x = &e->vals[v];
  const char *kind = inst->type == CT_bool            ? "holds"
                     : ct_is_int((CtDtype)inst->type) ? "number"
                                                      : "value";
  if (!x->is_continued && (describe_sum(e, inst, out, size) || describe_load(e, inst, out, size))) {
    return;
  }
  if (x->wanted != NULL) {
    snprintf(out, size, "%.60s%s", x->wanted, x->suffix);
  } else if (inst->op == CT_OP_GET) {
    snprintf(out, size, "%.60s_now", e->vals[inst->imm.i].name);
  } else {
    snprintf(out, size, "%s", results[inst->op] != NULL ? results[inst->op] : kind);
  }
}

const char *ct_emit_new_name(CtEmit *e, CtVal v) {
  char text[120];
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->name != NULL && inst->op != CT_OP_GET) {
    return ct_names_add_operand(&e->names, inst->name);
  }
  describe(e, v, text, sizeof text);
  return ct_names_add_operand(&e->names, text);
}

void ct_emit_assign(CtEmit *e, CtLoc loc, const char *name, CtVal value, bool is_update) {
  static const char *const tokens[CT_OP_COUNT] = {
      [CT_OP_ADD] = "+", [CT_OP_SUB] = "-", [CT_OP_MUL] = "*", [CT_OP_DIV] = "/"};
  const CtInst *inst = ct_inst(e->ir, value);
  bool is_plain = ct_is_float((CtDtype)inst->type) || ct_emit_is_exact(e->ir, value);
  if (is_update && is_plain && tokens[inst->op] != NULL) {
    ct_emit_say(e, loc, "%s %s= %v;", name, tokens[inst->op], inst->args[1]);
  } else {
    ct_emit_say(e, loc, "%s = %v;", name, value);
  }
}

void ct_emit_declare_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtVal before = e->vals[v].continues;
  bool is_pinned = ct_emit_is_pinned(e, v);
  const char *name = before != 0 ? e->vals[before].name : ct_emit_new_name(e, v);
  if (before != 0) {
    ct_emit_assign(e, inst->loc, name, v, inst->args[0] == before);
  } else {
    ct_emit_say(e, inst->loc, "%s%s %s = %v;", is_pinned || e->vals[v].is_continued ? "" : "const ",
                ct_emit_type_of(e->ir, v), name, v);
  }
  if (is_pinned) {
    ct_emit_pin(e, v, name);
  }
  e->vals[v].name = name;
}

/* An unnamed pointer inside a loop is named after its base and the loop: "tAgA_k". */
static const char *name_ptr(CtEmit *e, const CtEmitPtr *p, CtVal v) {
  char text[120];
  CtVal loop = e->regions[ct_inst(e->ir, v)->region].loop;
  const char *index = loop == 0 ? NULL : e->vals[loop].name;
  const char *wanted = p->wanted;
  bool is_taken = p->base != NULL && wanted != NULL && strcmp(wanted, p->base->name) == 0;
  if (wanted != NULL && !is_taken && strcmp(wanted, e->buf_names[p->buf]) != 0) {
    return ct_names_add(&e->names, wanted);
  }
  const char *stem = p->base != NULL ? p->base->name : e->buf_names[p->buf];
  if (p->base != NULL && index != NULL) {
    snprintf(text, sizeof text, "%.60s_%.40s", stem, index);
  } else {
    snprintf(text, sizeof text, "%.60s%s", stem, p->base != NULL ? "" : "_ptr");
  }
  return ct_names_add(&e->names, text);
}

void ct_emit_declare_pointers(CtEmit *e, CtVal v, CtLoc loc) {
  for (CtEmitPtr *p = e->vals[v].ptrs; p != NULL; p = p->next) {
    const char *type = ct_dtypes[e->ir->bufs[p->buf].dtype].cuda;
    const char *from = p->base != NULL ? p->base->name : e->buf_names[p->buf];
    const char *name = name_ptr(e, p, v);
    ct_emit_say(e, loc, "%s%s* const %s = %s + %m;", p->is_written ? "" : "const ", type, name,
                from, p->base != NULL ? p->addend : v);
    p->name = name;
  }
}

const char *ct_emit_new_var_name(CtEmit *e, CtVal var) {
  const char *name = ct_inst(e->ir, var)->name;
  return ct_names_add_operand(&e->names, name != NULL ? name : "v");
}

void ct_emit_declare_vars(CtEmit *e, CtVal v) {
  for (CtVal var = e->vals[v].decls; var != 0; var = e->vals[var].next_decl) {
    CtDtype type = (CtDtype)ct_inst(e->ir, var)->type;
    ct_emit_begin(e, ct_inst(e->ir, v)->loc);
    e->vals[var].name = ct_emit_new_var_name(e, var);
    ct_text_printf(&e->body, "%s %s", ct_dtypes[type].cuda, e->vals[var].name);
    if (e->vals[var].declares) {
      ct_text_puts(&e->body, " = ");
      if (ct_is_float(type)) {
        ct_emit_float(&e->body, type, 0);
      } else {
        ct_emit_int(e, type, 0);
      }
    }
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
  }
}
