/* emit_cuda.c: a kernel as CUDA C: statements, structure, declarations and the frame around them.
   The text is self-contained: no includes, only the helpers of emit_prelude.def that it uses. */
#include "emit_cuda.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

enum { STATIC_SHARED_MAX = 48 * 1024, MAX_LINE = 100 };

static const char *const helper_texts[CT_HELP_COUNT] = {
#define X(name, text) text,
#include "emit_prelude.def"
#undef X
};

/* --- failures and lines --------------------------------------------------------------------------- */

void ct_emit_fail(CtEmit *e, CtLoc loc, CtStatus status, const char *fmt, ...) {
  char msg[sizeof((CtErr *)0)->msg];
  va_list args;
  if (e->status != CT_OK) {
    return;
  }
  va_start(args, fmt);
  vsnprintf(msg, sizeof msg, fmt, args);
  va_end(args);
  e->status = status == CT_ENOMEM ? ct_fail_nomem(e->err) : ct_fail(e->err, status, "%s", msg);
  if (e->err != NULL && status != CT_ENOMEM) {
    ct_err_at(e->err, ct_ir_chunk(e->ir, loc), loc.line);
  }
}

const char *ct_emit_help(CtEmit *e, CtHelper helper, const char *name) {
  e->helps[helper] = true;
  return name;
}

/* A script's name inside a string literal or a comment. */
static void put_chunk(CtEmit *e, CtLoc loc) {
  for (const char *s = ct_ir_chunk(e->ir, loc); *s != '\0'; s++) {
    if (e->opts.line_directives && (*s == '"' || *s == '\\')) {
      ct_text_putc(&e->body, '\\');
    }
    ct_text_putc(&e->body, (unsigned char)*s < ' ' ? '?' : *s);
  }
}

static bool same_loc(CtLoc a, CtLoc b) { return a.chunk == b.chunk && a.line == b.line; }

void ct_emit_begin(CtEmit *e, CtLoc loc) {
  e->loc = loc;
  if (e->opts.line_directives && loc.line > 0 && !same_loc(loc, e->said)) {
    ct_text_printf(&e->body, "#line %d \"", loc.line);
    put_chunk(e, loc);
    ct_text_puts(&e->body, "\"\n");
    e->said = loc;
  }
  ct_text_printf(&e->body, "%*s", 2 * e->depth, "");
}

void ct_emit_end(CtEmit *e) {
  if (e->opts.line_directives) {
    e->said.line++;
  } else if (e->loc.line > 0 && !same_loc(e->loc, e->said)) {
    ct_text_puts(&e->body, "  // ");
    put_chunk(e, e->loc);
    ct_text_printf(&e->body, ":%d", e->loc.line);
    e->said = e->loc;
  }
  ct_text_putc(&e->body, '\n');
}

void ct_emit_line(CtEmit *e, CtLoc loc, const char *fmt, ...) {
  char line[512];
  va_list args;
  ct_emit_begin(e, loc);
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  ct_text_puts(&e->body, line);
  ct_emit_end(e);
}

static const CtLoc nowhere = {0, 0};

void ct_emit_open(CtEmit *e) { e->depth++; }

void ct_emit_close(CtEmit *e, size_t mark) {
  e->depth--;
  ct_names_release(&e->names, mark);
  ct_emit_line(e, nowhere, "}");
}

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

static void emit_region(CtEmit *e, CtRegion r, CtVal from) {
  for (CtVal v = from != 0 ? from : e->ir->regions[r].first; v != 0 && e->status == CT_OK;
       v = ct_inst(e->ir, v)->next) {
    emit_inst(e, v);
  }
}

/* --- the frame ------------------------------------------------------------------------------------------ */

static void put_parameter(CtEmit *e, const CtSlot *slot, const char *name) {
  const char *type = ct_dtypes[slot->dtype].cuda;
  if (slot->kind == CT_SLOT_POINTER) {
    const CtBuf *buf = &e->ir->bufs[e->ir->params[slot->param].buf];
    ct_text_printf(&e->body, "%s%s* __restrict__ %s", buf->is_written ? "" : "const ", type, name);
  } else {
    ct_text_printf(&e->body, "%s %s", type, name);
  }
}

/* As many on a line as fit. */
static void put_parameters(CtEmit *e, size_t line) {
  const char *sep = "";
  for (size_t i = 0; i < e->ir->n_slots; i++) {
    const CtSlot *slot = &e->ir->slots[i];
    size_t width = strlen(slot->name) + (slot->kind == CT_SLOT_POINTER ? 30 : 10);
    if (!slot->used) {
      continue;
    }
    ct_text_puts(&e->body, sep);
    if (e->body.len - line + width > MAX_LINE) {
      e->body.len -= sep[0] != '\0'; /* the space */
      ct_text_puts(&e->body, "\n    ");
      line = e->body.len - 4;
    }
    put_parameter(e, slot, e->slot_names[i]);
    sep = ", ";
  }
}

static void put_signature(CtEmit *e, const char *name) {
  const CtIr *ir = e->ir;
  int64_t threads = ir->block[0] * ir->block[1] * ir->block[2];
  ct_text_printf(&e->body, "extern \"C\" __global__ void __launch_bounds__(%" PRId64 ")\n", threads);
  size_t line = e->body.len;
  ct_text_printf(&e->body, "%s(", name);
  put_parameters(e, line);
  ct_text_puts(&e->body, ") {");
  e->loc = ir->loc;
  if (e->opts.line_directives) {
    e->said = (CtLoc){UINT32_MAX, 0};
  }
  ct_emit_end(e);
}

static void name_arguments(CtEmit *e) {
  for (size_t i = 0; i < e->ir->n_slots; i++) {
    const CtSlot *slot = &e->ir->slots[i];
    if (slot->used) {
      e->slot_names[i] = ct_names_add(&e->names, slot->name);
    }
    if (slot->kind == CT_SLOT_POINTER) {
      e->buf_names[e->ir->params[slot->param].buf] = slot->used ? e->slot_names[i] : slot->name;
    }
  }
}

int64_t ct_emit_dynamic_shared(const CtIr *ir) {
  int64_t bytes = ct_ir_shared_bytes(ir);
  return bytes > STATIC_SHARED_MAX ? bytes : 0;
}

static void declare_shared(CtEmit *e, uint32_t id, bool is_dynamic) {
  const CtBuf *buf = &e->ir->bufs[id];
  const char *type = ct_dtypes[buf->dtype].cuda;
  if (is_dynamic) {
    ct_emit_line(e, buf->loc, "%s* const %s = reinterpret_cast<%s*>(smem + %" PRId64 ");", type,
                 e->buf_names[id], type, ct_ir_shared_offset(e->ir, id));
  } else {
    ct_emit_line(e, buf->loc, "__shared__ __align__(%u) %s %s[%" PRId64 "];", buf->align, type,
                 e->buf_names[id], ct_max(buf->n_elems.v, 1));
  }
}

static void declare_buffers(CtEmit *e) {
  bool is_dynamic = ct_emit_dynamic_shared(e->ir) > 0;
  if (is_dynamic) {
    ct_emit_line(e, nowhere, "extern __shared__ __align__(128) unsigned char smem[];");
  }
  for (uint32_t i = 1; i < e->ir->n_bufs; i++) {
    const CtBuf *buf = &e->ir->bufs[i];
    if (buf->space == CT_GLOBAL || !e->buf_used[i]) {
      continue;
    }
    e->buf_names[i] = ct_names_add(&e->names, buf->name);
    if (buf->space == CT_SHARED) {
      declare_shared(e, i, is_dynamic);
    } else {
      ct_emit_line(e, buf->loc, "%s %s[%" PRId64 "];", ct_dtypes[buf->dtype].cuda, e->buf_names[i],
                   ct_max(buf->n_elems.v, 1));
    }
  }
}

/* const int tid_x = threadIdx.x; for the axes in use, by the script's name where it has one. */
static void declare_axes(CtEmit *e) {
  static const struct {
    CtOp op;
    const char *name, *builtin;
  } axes[] = {{CT_OP_TID, "tid", "threadIdx"},
              {CT_OP_BID, "bid", "blockIdx"},
              {CT_OP_GDIM, "grid", "gridDim"}};
  for (size_t k = 0; k < 3 * CT_ARRAY_LEN(axes); k++) {
    for (CtVal v = 1; v < e->ir->n_insts; v++) {
      const CtInst *inst = ct_inst(e->ir, v);
      if (inst->op == axes[k / 3].op && inst->imm.i == (int64_t)(k % 3) && e->vals[v].n_uses > 0) {
        char text[16];
        snprintf(text, sizeof text, "%s_%c", axes[k / 3].name, "xyz"[inst->imm.i]);
        e->vals[v].name = ct_names_add(&e->names, inst->name != NULL ? inst->name : text);
        ct_emit_line(e, inst->name != NULL ? inst->loc : nowhere, "const int %s = %s.%c;",
                     e->vals[v].name, axes[k / 3].builtin, "xyz"[inst->imm.i]);
      }
    }
  }
}

static void emit_kernel(CtEmit *e) {
  char name[CT_EMIT_NAME_MAX];
  ct_emit_kernel_name(e->ir, name);
  ct_names_add(&e->names, name);
  name_arguments(e);
  put_signature(e, name);
  ct_emit_open(e);
  declare_buffers(e);
  declare_axes(e);
  emit_region(e, 1, 0);
  ct_emit_close(e, 0);
}

static void put_prelude(const CtEmit *e, CtText *out) {
  bool any = false;
  for (int i = 0; i < CT_HELP_COUNT; i++) {
    if (e->helps[i]) {
      ct_text_puts(out, helper_texts[i]);
      any = true;
    }
  }
  ct_text_puts(out, any ? "\n" : "");
}

static bool alloc_tables(CtEmit *e) {
  const CtIr *ir = e->ir;
  e->vals = ct_arena_alloc(&e->arena, ir->n_insts * sizeof *e->vals);
  e->regions = ct_arena_alloc(&e->arena, ir->n_regions * sizeof *e->regions);
  e->order = ct_arena_alloc(&e->arena, (ir->n_insts + 1) * sizeof *e->order);
  e->buf_names = ct_arena_alloc(&e->arena, ir->n_bufs * sizeof *e->buf_names);
  e->buf_used = ct_arena_alloc(&e->arena, ir->n_bufs * sizeof *e->buf_used);
  e->slot_names = ct_arena_alloc(&e->arena, (ir->n_slots + 1) * sizeof *e->slot_names);
  return e->vals != NULL && e->regions != NULL && e->order != NULL && e->buf_names != NULL &&
         e->buf_used != NULL && e->slot_names != NULL;
}

static CtStatus run(CtEmit *e, CtText *out) {
  if (!alloc_tables(e)) {
    return ct_fail_nomem(e->err);
  }
  ct_emit_plan(e);
  if (e->status == CT_OK) {
    emit_kernel(e);
  }
  if (e->status != CT_OK) {
    return e->status;
  }
  if (e->names.failed || e->body.failed) {
    return ct_fail_nomem(e->err);
  }
  put_prelude(e, out);
  ct_text_add(out, ct_text_str(&e->body), e->body.len);
  return ct_text_status(out, e->err);
}

CtStatus ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) {
  CtEmit e = {.ir = ir, .opts = *opts, .err = err};
  size_t before = out->len;
  ct_arena_init(&e.arena, ir->arena.alloc);
  ct_text_init(&e.body, ir->arena.alloc);
  ct_names_init(&e.names, &e.arena);
  CtStatus status = run(&e, out);
  if (status != CT_OK && out->s != NULL) {
    out->len = before;
    out->s[before] = '\0';
  }
  ct_names_clear(&e.names);
  ct_text_clear(&e.body);
  ct_arena_clear(&e.arena);
  return status;
}
