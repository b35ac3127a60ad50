/* emit_stmt.c: operations as statements: declarations, assignments, control flow. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

static const CtLoc nowhere = {0, 0};

/* --- declarations ----------------------------------------------------------------------------------- */

static const char *type_of(const CtIr *ir, CtVal v) { return ct_dtypes[ct_inst(ir, v)->type].cuda; }

/* "tid_x_mod_32": index arithmetic that needs a name often is a leaf and a constant. */
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
    snprintf(out, size, "%s", inst->type == CT_bool ? "cond" : (ct_is_int((CtDtype)inst->type) ? "t" : "v"));
  }
}

static const char *new_name(CtEmit *e, CtVal v) {
  char text[120];
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->name != NULL && inst->op != CT_OP_GET) {
    return ct_names_add(&e->names, inst->name);
  }
  describe(e, v, text, sizeof text);
  return ct_names_add(&e->names, text);
}

static void declare_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *name = new_name(e, v);
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "const %s %s = ", type_of(e->ir, v), name);
  ct_emit_expr(e, v, CT_PREC_ANY);
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
  e->vals[v].name = name;
}

/* An unnamed pointer inside a loop is called after its base and the loop: "tAgA_k". */
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

static void declare_pointers(CtEmit *e, CtVal v, CtLoc loc) {
  for (CtEmitPtr *p = e->vals[v].ptrs; p != NULL; p = p->next) {
    const char *type = ct_dtypes[e->ir->bufs[p->buf].dtype].cuda;
    const char *from = p->base != NULL ? p->base->name : e->buf_names[p->buf];
    const char *name = name_ptr(e, p, v);
    ct_emit_begin(e, loc);
    ct_text_printf(&e->body, "%s%s* const %s = %s + ", p->is_written ? "" : "const ", type, name, from);
    ct_emit_expr(e, p->base != NULL ? p->addend : v, CT_PREC_MUL);
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
    p->name = name;
  }
}

static const char *name_var(CtEmit *e, CtVal var) {
  const CtInst *inst = ct_inst(e->ir, var);
  e->vals[var].name = ct_names_add(&e->names, inst->name != NULL ? inst->name : "v");
  return e->vals[var].name;
}

static void declare_vars(CtEmit *e, CtVal v) {
  for (CtVal var = e->vals[v].decls; var != 0; var = e->vals[var].next_decl) {
    CtDtype type = (CtDtype)ct_inst(e->ir, var)->type;
    ct_emit_begin(e, ct_inst(e->ir, v)->loc);
    ct_text_printf(&e->body, "%s %s", ct_dtypes[type].cuda, name_var(e, var));
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

/* --- statements ------------------------------------------------------------------------------------- */

static void emit_region(CtEmit *e, CtRegion r, CtVal from);

static void emit_set(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  ct_emit_begin(e, inst->loc);
  if (e->vals[v].declares) {
    ct_text_printf(&e->body, "%s ", type_of(e->ir, (CtVal)inst->imm.i));
    const char *name = ct_names_add(&e->names, ct_inst(e->ir, (CtVal)inst->imm.i)->name != NULL
                                                   ? ct_inst(e->ir, (CtVal)inst->imm.i)->name
                                                   : "v");
    ct_text_printf(&e->body, "%s = ", name);
    ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
    e->vals[inst->imm.i].name = name;
  } else {
    ct_text_printf(&e->body, "%s = ", e->vals[inst->imm.i].name);
    ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
  }
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

static void emit_store(CtEmit *e, const CtInst *inst) {
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "%s[", e->buf_names[inst->imm.i]);
  ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
  ct_text_puts(&e->body, "] = ");
  ct_emit_expr(e, inst->args[1], CT_PREC_ANY);
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

/* --- CUDA text of the script --- */

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Writes the operand that $name stands for; the characters read. */
static size_t put_operand(CtEmit *e, const CtInst *inst, const char *name) {
  const CtEscape *esc = inst->u.escape;
  size_t len = 0;
  while (is_word(name[len])) {
    len++;
  }
  for (int i = 0; i < esc->n; i++) {
    if (strlen(esc->names[i]) == len && strncmp(esc->names[i], name, len) == 0) {
      ct_emit_expr(e, esc->vals[i], CT_PREC_PRIMARY);
      return len;
    }
  }
  ct_emit_fail(e, inst->loc, CT_EINVAL,
               "cuda: '$%.*s' has no operand of that name; give it one, or write $$ for a $",
               (int)len, name);
  return len;
}

static void put_escape(CtEmit *e, const CtInst *inst) {
  const char *s = inst->u.escape->text;
  while (*s != '\0') {
    if (s[0] == '$' && s[1] == '$') {
      ct_text_putc(&e->body, '$');
      s += 2;
    } else if (s[0] == '$') {
      s += 1 + put_operand(e, inst, s + 1);
    } else {
      e->said.line += *s == '\n' && e->opts.line_directives;
      ct_text_putc(&e->body, *s++);
    }
  }
}

static bool ends_statement(const char *text) {
  size_t len = strlen(text);
  while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
    len--;
  }
  return len > 0 && (text[len - 1] == ';' || text[len - 1] == '}');
}

/* Several statements get braces, so that what they declare stays theirs. */
static void emit_escape(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *text = inst->u.escape->text;
  const char *semicolon = strchr(text, ';');
  bool is_block = semicolon != NULL && semicolon[1] != '\0';
  bool is_value = inst->type != CT_VOID && e->vals[v].n_uses > 0;
  ct_emit_begin(e, inst->loc);
  if (is_value) {
    const char *name = new_name(e, v);
    ct_text_printf(&e->body, "const %s %s = ", type_of(e->ir, v), name);
    put_escape(e, inst);
    ct_text_putc(&e->body, ';');
    e->vals[v].name = name;
  } else {
    ct_text_puts(&e->body, is_block ? "{ " : "");
    put_escape(e, inst);
    ct_text_puts(&e->body, ends_statement(text) ? "" : ";");
    ct_text_puts(&e->body, is_block ? " }" : "");
  }
  ct_emit_end(e);
}

static void emit_wait(CtEmit *e, const CtInst *inst) {
  if (!e->has_async) {
    return;
  }
  if (inst->op == CT_OP_CP_FENCE) {
    ct_emit_line(e, inst->loc, "%s();", ct_emit_help(e, CT_HELP_CP_COMMIT, "cp_async_commit"));
  } else if (inst->imm.i == 0) {
    ct_emit_line(e, inst->loc, "%s();", ct_emit_help(e, CT_HELP_CP_WAIT_ALL, "cp_async_wait_all"));
  } else {
    ct_emit_line(e, inst->loc, "%s<%" PRId64 ">();",
                 ct_emit_help(e, CT_HELP_CP_WAIT_GROUP, "cp_async_wait_group"), inst->imm.i);
  }
}

static void emit_effect(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_SET: emit_set(e, v); break;
    case CT_OP_STORE: emit_store(e, inst); break;
    case CT_OP_BARRIER: ct_emit_line(e, inst->loc, "__syncthreads();"); break;
    case CT_OP_SYNC_WARP: ct_emit_line(e, inst->loc, "__syncwarp();"); break;
    case CT_OP_CP_FENCE:
    case CT_OP_CP_WAIT: emit_wait(e, inst); break;
    case CT_OP_ESCAPE: emit_escape(e, v); break;
    default: CT_UNREACHABLE();
  }
}

/* --- structure ---------------------------------------------------------------------------------------- */

/* Does the operation leave any text, or declare something? */
static bool is_printed(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtEmitVal *x = &e->vals[v];
  bool is_wait = inst->op == CT_OP_CP_FENCE || inst->op == CT_OP_CP_WAIT;
  if (x->decls != 0 || x->ptrs != NULL) {
    return true;
  }
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_PURE:
    case CT_CLS_READ:
      return x->print == CT_PRINT_NAMED;
    default:
      return !is_wait || e->has_async;
  }
}

/* The first operation from v on that is printed, or 0. */
static CtVal printed_from(const CtEmit *e, CtVal v) {
  while (v != 0 && !is_printed(e, v)) {
    v = ct_inst(e->ir, v)->next;
  }
  return v;
}

/* The region's one printed operation, or 0. */
static CtVal sole(const CtEmit *e, CtRegion r) {
  CtVal v = r == 0 ? 0 : printed_from(e, e->ir->regions[r].first);
  return v != 0 && printed_from(e, ct_inst(e->ir, v)->next) == 0 ? v : 0;
}

static CtVal sole_if(const CtEmit *e, CtRegion r) {
  CtVal v = sole(e, r);
  return v != 0 && ct_inst(e->ir, v)->op == CT_OP_IF && e->vals[v].decls == 0 ? v : 0;
}

static void emit_body(CtEmit *e, CtRegion r) {
  size_t mark = ct_names_mark(&e->names);
  ct_emit_open(e);
  emit_region(e, r, 0);
  e->depth--;
  ct_names_release(&e->names, mark);
}

static const char *label_of(CtEmit *e, CtVal target) {
  CtEmitVal *x = &e->vals[target];
  if (x->label == NULL) {
    char text[32];
    snprintf(text, sizeof text, e->n_labels == 0 ? "done" : "done_%d", e->n_labels + 1);
    e->n_labels++;
    x->label = ct_arena_strdup(&e->arena, text, strlen(text));
  }
  return x->label == NULL ? "?" : x->label;
}

/* Behind the closing brace of what is left, so that no jump goes past a declaration of its scope. */
static void put_label(CtEmit *e, CtVal target) {
  if (e->vals[target].has_label) {
    ct_emit_line(e, nowhere, "%s:;", label_of(e, target));
  }
}

static void put_jump(CtEmit *e, CtVal v) {
  static const char *const words[] = {
      [CT_JUMP_BREAK] = "break;", [CT_JUMP_CONTINUE] = "continue;", [CT_JUMP_RETURN] = "return;"};
  if (e->vals[v].jump == CT_JUMP_GOTO) {
    ct_text_printf(&e->body, "goto %s;", label_of(e, (CtVal)ct_inst(e->ir, v)->imm.i));
  } else {
    ct_text_puts(&e->body, words[e->vals[v].jump]);
  }
}

static void emit_jump(CtEmit *e, CtVal v) {
  ct_emit_begin(e, ct_inst(e->ir, v)->loc);
  put_jump(e, v);
  ct_emit_end(e);
}

/* The region's one operation is a jump: that operation, or 0. */
static CtVal sole_jump(const CtEmit *e, CtRegion r) {
  CtVal v = sole(e, r);
  return v != 0 && ct_inst(e->ir, v)->op == CT_OP_BREAK ? v : 0;
}

static bool is_silent(const CtEmit *e, CtRegion r) {
  return r == 0 || printed_from(e, e->ir->regions[r].first) == 0;
}

/* The head of an IF up to the closing parenthesis; which region comes first. */
static CtRegion put_if_head(CtEmit *e, const CtInst *inst, CtRegion *other) {
  bool negated = is_silent(e, inst->u.regions[0]) && !is_silent(e, inst->u.regions[1]);
  ct_text_puts(&e->body, "if (");
  if (negated) {
    ct_emit_not(e, inst->args[0]);
  } else {
    ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
  }
  ct_text_puts(&e->body, ") ");
  *other = negated || is_silent(e, inst->u.regions[1]) ? 0 : inst->u.regions[1];
  return inst->u.regions[negated ? 1 : 0];
}

static void emit_if(CtEmit *e, CtVal v) {
  CtRegion other;
  ct_emit_begin(e, ct_inst(e->ir, v)->loc);
  CtRegion first = put_if_head(e, ct_inst(e->ir, v), &other);
  if (other == 0 && sole_jump(e, first) != 0) {
    put_jump(e, sole_jump(e, first));
    ct_emit_end(e);
    return;
  }
  for (;;) {
    ct_text_putc(&e->body, '{');
    ct_emit_end(e);
    emit_body(e, first);
    CtVal next = other == 0 ? 0 : sole_if(e, other);
    ct_emit_begin(e, next == 0 ? nowhere : ct_inst(e->ir, next)->loc);
    ct_text_puts(&e->body, other == 0 ? "}" : "} else ");
    if (other == 0) {
      break;
    }
    first = other;
    other = 0;
    if (next != 0) {
      first = put_if_head(e, ct_inst(e->ir, next), &other);
    }
  }
  ct_emit_end(e);
}

static void put_for_plain(CtEmit *e, const CtInst *inst, const char *i) {
  const CtInst *step = ct_inst(e->ir, inst->args[2]);
  bool up = step->facts.lo > 0;
  ct_text_printf(&e->body, "for (%s %s = ", ct_dtypes[inst->type].cuda, i);
  ct_emit_expr(e, inst->args[0], CT_PREC_COND);
  ct_text_printf(&e->body, "; %s %s ", i, up ? "<" : ">");
  ct_emit_expr(e, inst->args[1], CT_PREC_SHIFT);
  if (step->op != CT_OP_CONST) {
    ct_text_printf(&e->body, "; %s += ", i);
    ct_emit_expr(e, inst->args[2], CT_PREC_COND);
  } else if (step->imm.i == 1 || step->imm.i == -1) {
    ct_text_printf(&e->body, "; %s%s", i, up ? "++" : "--");
  } else {
    ct_text_printf(&e->body, "; %s %s ", i, up ? "+=" : "-=");
    ct_emit_int(e, (CtDtype)inst->type, up ? step->imm.i : -step->imm.i);
  }
  ct_text_puts(&e->body, ") {");
  ct_emit_end(e);
}

/* Counts iterations, so that nothing overflows; the index is computed from their number. */
static void put_for_counted(CtEmit *e, const CtInst *inst, const char *i) {
  const char *t = ct_names_add(&e->names, "trip");
  const char *n = ct_names_add(&e->names, "trips");
  const char *word = inst->type == CT_i32 ? "unsigned" : "unsigned long long";
  ct_text_printf(&e->body, "for (unsigned long long %s = 0, %s = %s(", t, n,
                 ct_emit_help(e, CT_HELP_FOR_TRIPS, "for_trips"));
  for (int k = 0; k < 3; k++) {
    ct_text_puts(&e->body, k > 0 ? ", " : "");
    ct_emit_expr(e, inst->args[k], CT_PREC_COND);
  }
  ct_text_printf(&e->body, "); %s < %s; %s++) {", t, n, t);
  ct_emit_end(e);
  e->depth++;
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "const %s %s = (%s)((%s)", ct_dtypes[inst->type].cuda, i,
                 ct_dtypes[inst->type].cuda, word);
  ct_emit_expr(e, inst->args[0], CT_PREC_UNARY);
  ct_text_printf(&e->body, " + (%s)%s * ", word, t);
  ct_emit_expr(e, inst->args[2], CT_PREC_UNARY);
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
  e->depth--;
}

static void emit_for(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  size_t mark = ct_names_mark(&e->names);
  if (inst->imm.i < 0) {
    ct_emit_line(e, inst->loc, "#pragma unroll");
  } else if (inst->imm.i > 0) {
    ct_emit_line(e, inst->loc, "#pragma unroll %" PRId64, inst->imm.i);
  }
  const char *i = ct_names_add(&e->names, inst->name != NULL ? inst->name : "i");
  ct_emit_begin(e, inst->loc);
  if (ct_emit_is_plain_for(e->ir, inst)) {
    put_for_plain(e, inst, i);
  } else {
    put_for_counted(e, inst, i);
  }
  e->vals[v].name = i;
  ct_emit_open(e);
  declare_pointers(e, v, inst->loc);
  emit_region(e, inst->u.regions[0], 0);
  ct_emit_close(e, mark);
  put_label(e, v);
}

/* The IF that begins a LOOP and does nothing but leave it in one of its regions: that region. */
static CtRegion leaving_region(const CtEmit *e, CtVal loop, CtVal first) {
  const CtInst *inst = ct_inst(e->ir, first);
  if (first == 0 || inst->op != CT_OP_IF || e->vals[first].decls != 0) {
    return 0;
  }
  for (int i = 0; i < 2; i++) {
    CtVal jump = sole_jump(e, inst->u.regions[i]);
    bool leaves = jump != 0 && ct_inst(e->ir, jump)->imm.i == loop;
    if (leaves && (i == 1 || is_silent(e, inst->u.regions[1]))) {
      return inst->u.regions[i];
    }
  }
  return 0;
}

/* while (c) where the body begins with the test, else for (;;). */
static void emit_loop(CtEmit *e, CtVal v) {
  CtRegion body = ct_inst(e->ir, v)->u.regions[0];
  CtVal first = printed_from(e, e->ir->regions[body].first);
  CtRegion leaving = leaving_region(e, v, first);
  const CtInst *test = ct_inst(e->ir, first);
  size_t mark = ct_names_mark(&e->names);
  ct_emit_begin(e, leaving != 0 ? test->loc : ct_inst(e->ir, v)->loc);
  if (leaving == 0) {
    ct_text_puts(&e->body, "for (;;) {");
  } else {
    ct_text_puts(&e->body, "while (");
    if (leaving == test->u.regions[0]) {
      ct_emit_not(e, test->args[0]);
    } else {
      ct_emit_expr(e, test->args[0], CT_PREC_ANY);
    }
    ct_text_puts(&e->body, ") {");
  }
  ct_emit_end(e);
  ct_emit_open(e);
  if (leaving != 0 && leaving != test->u.regions[0]) {
    emit_region(e, test->u.regions[0], 0);
  }
  if (leaving == 0) {
    emit_region(e, body, 0);
  } else if (test->next != 0) {
    emit_region(e, body, test->next);
  }
  ct_emit_close(e, mark);
  put_label(e, v);
}

/* Braces where a goto leaves the block, or names might meet what follows. */
static void emit_block(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (!e->vals[v].has_label && printed_from(e, inst->next) == 0) {
    emit_region(e, inst->u.regions[0], 0);
    return;
  }
  ct_emit_line(e, nowhere, "{");
  emit_body(e, inst->u.regions[0]);
  ct_emit_line(e, nowhere, "}");
  put_label(e, v);
}

static void emit_structure(CtEmit *e, CtVal v) {
  switch ((CtOp)ct_inst(e->ir, v)->op) {
    case CT_OP_IF: emit_if(e, v); break;
    case CT_OP_FOR: emit_for(e, v); break;
    case CT_OP_LOOP: emit_loop(e, v); break;
    case CT_OP_BLOCK: emit_block(e, v); break;
    default: CT_UNREACHABLE();
  }
}

static void emit_inst(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  declare_vars(e, v);
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_PURE:
    case CT_CLS_READ:
      if (e->vals[v].print == CT_PRINT_NAMED) {
        declare_value(e, v);
      }
      break;
    case CT_CLS_EFFECT: emit_effect(e, v); break;
    case CT_CLS_REGION: emit_structure(e, v); break;
    case CT_CLS_JUMP: emit_jump(e, v); break;
    case CT_CLS_TILE: ct_emit_tile(e, v); break;
    case CT_CLS_LEAF: break;
  }
  if (inst->op != CT_OP_FOR) {
    declare_pointers(e, v, inst->loc);
  }
}

/* From one operation on, or all of them. */
static void emit_region(CtEmit *e, CtRegion r, CtVal from) {
  for (CtVal v = from != 0 ? from : e->ir->regions[r].first; v != 0 && e->status == CT_OK;
       v = ct_inst(e->ir, v)->next) {
    emit_inst(e, v);
  }
}

void ct_emit_statements(CtEmit *e) { emit_region(e, 1, 0); }
