/* emit_decl.c: declarations of values, pointers and variables, and the names they get. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

/* "tid_x_mod_32": index arithmetic that needs a name is often a leaf and a constant. */
static void describe(const CtEmit *e, CtVal v, char *out, size_t size) {
  static const char *const words[CT_OP_COUNT] = {
      [CT_OP_FLOORDIV] = "div", [CT_OP_FLOORMOD] = "mod", [CT_OP_MUL] = "times"};
  const CtInst *inst = ct_inst(e->ir, v);
  const char *word = words[inst->op];
  const char *left = word == NULL ? NULL : e->vals[inst->args[0]].name;
  bool by_const = word != NULL && ct_inst(e->ir, inst->args[1])->op == CT_OP_CONST &&
                  ct_is_int((CtDtype)inst->type);
  if (word != NULL && ct_inst(e->ir, inst->args[0])->op == CT_OP_PARAM) {
    left = e->slot_names[ct_inst(e->ir, inst->args[0])->imm.i];
  }
  if (by_const && left != NULL && strlen(left) < 24 && ct_inst(e->ir, inst->args[1])->imm.i >= 0) {
    snprintf(out, size, "%s_%s_%" PRId64, left, word, ct_inst(e->ir, inst->args[1])->imm.i);
  } else if (inst->op == CT_OP_GET) {
    snprintf(out, size, "%.60s_now", e->vals[inst->imm.i].name);
  } else {
    snprintf(out, size, "%s",
             inst->type == CT_bool ? "cond" : (ct_is_int((CtDtype)inst->type) ? "t" : "v"));
  }
}

const char *ct_emit_new_name(CtEmit *e, CtVal v) {
  char text[120];
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->name != NULL && inst->op != CT_OP_GET) {
    return ct_names_add(&e->names, inst->name);
  }
  describe(e, v, text, sizeof text);
  return ct_names_add(&e->names, text);
}

void ct_emit_declare_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *name = ct_emit_new_name(e, v);
  bool is_pinned = ct_emit_is_pinned(e, v);
  ct_emit_say(e, inst->loc, "%s%s %s = %v;", is_pinned ? "" : "const ", ct_emit_type_of(e->ir, v),
              name, v);
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
  return ct_names_add(&e->names, name != NULL ? name : "v");
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
        ct_emit_float(e, type, 0);
      } else {
        ct_emit_int(e, type, 0);
      }
    }
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
  }
}
