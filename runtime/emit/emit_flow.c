/* emit_flow.c: the text of a kernel, operation by operation: control flow and its contents. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

static const CtLoc nowhere = {0, 0};

/* --- structure ---------------------------------------------------------------------------------------- */

/* Does the operation leave any text, or declare something? */
static bool is_printed(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtEmitVal *x = &e->vals[v];
  if (x->decls != 0 || x->ptrs != NULL) {
    return true;
  }
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_PURE:
    case CT_CLS_READ: return x->print == CT_PRINT_NAMED;
    case CT_CLS_JUMP: return x->jump != CT_JUMP_NONE;
    case CT_CLS_EFFECT: return x->print != CT_PRINT_INLINE && !ct_emit_is_dropped(e, inst);
    case CT_CLS_REGION:
    case CT_CLS_TILE:
    case CT_CLS_LEAF: return true;
  }
  CT_UNREACHABLE();
}

/* The first operation from v on that is printed, or 0. */
static CtVal printed_from(const CtEmit *e, CtVal v) {
  while (v != 0 && !is_printed(e, v)) {
    v = ct_inst(e->ir, v)->next;
  }
  return v;
}

/* Operations in a row: from `from` to the end of its region, then those of `then`. */
typedef struct Seq {
  CtVal from; /* 0: none */
  const struct Seq *then;
} Seq;

static CtVal next_of(const CtEmit *e, CtVal v) { return ct_inst(e->ir, v)->next; }
static Seq seq_of(const CtEmit *e, CtRegion r) {
  return (Seq){r == 0 ? 0 : e->ir->regions[r].first, NULL};
}

/* The first printed operation, and what follows it. */
static CtVal first_of(const CtEmit *e, const Seq *s, Seq *rest) {
  for (; s != NULL; s = s->then) {
    CtVal v = printed_from(e, s->from);
    if (v != 0) {
      *rest = (Seq){next_of(e, v), s->then};
      return v;
    }
  }
  *rest = (Seq){0, NULL};
  return 0;
}

static bool is_silent(const CtEmit *e, const Seq *s) {
  Seq rest;
  return first_of(e, s, &rest) == 0;
}

/* The region's only printed operation, or 0. */
static CtVal sole(const CtEmit *e, CtRegion r) {
  Seq s = seq_of(e, r), rest;
  CtVal v = first_of(e, &s, &rest);
  return v != 0 && is_silent(e, &rest) ? v : 0;
}

/* Is the sequence a single IF, so that we can write `else if`? An IF that absorbs the rest
   counts. */
static CtVal sole_if(const CtEmit *e, const Seq *s, Seq *rest) {
  CtVal v = first_of(e, s, rest);
  bool is_if = v != 0 && ct_inst(e->ir, v)->op == CT_OP_IF && e->vals[v].decls == 0;
  return is_if && (e->vals[v].absorbs || is_silent(e, rest)) ? v : 0;
}

static void emit_seq(CtEmit *e, const Seq *s);

static void emit_body(CtEmit *e, const Seq *s) {
  size_t mark = ct_names_mark(&e->names);
  ct_emit_open(e);
  emit_seq(e, s);
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

/* Written after the closing brace of the target, so that no jump passes a declaration in its
   scope. */
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

static void write_jump(CtEmit *e, CtVal v, const Seq *rest) {
  (void)rest;
  if (e->vals[v].jump == CT_JUMP_NONE) {
    return;
  }
  ct_emit_begin(e, ct_inst(e->ir, v)->loc);
  put_jump(e, v);
  ct_emit_end(e);
}

/* If the region's only operation is a jump: that operation; else 0. */
static CtVal sole_jump(const CtEmit *e, CtRegion r) {
  CtVal v = sole(e, r);
  return v != 0 && ct_inst(e->ir, v)->op == CT_OP_BREAK ? v : 0;
}

/* The parts of an IF; `rest` is what follows it. */
typedef struct Branches {
  Seq first, other;
  bool negated; /* first is the else part */
} Branches;

static void branches_of(const CtEmit *e, CtVal v, const Seq *rest, Branches *out) {
  const CtInst *inst = ct_inst(e->ir, v);
  out->first = seq_of(e, inst->u.regions[0]);
  out->other = seq_of(e, inst->u.regions[1]);
  out->other.then = e->vals[v].absorbs ? rest : NULL;
  out->negated = is_silent(e, &out->first) && !is_silent(e, &out->other);
  if (out->negated) {
    out->first = out->other;
    out->other = (Seq){0, NULL};
  }
}

/* A sequence that outlives this call. */
static const Seq *keep(CtEmit *e, Seq s) {
  Seq *copy = ct_arena_alloc(&e->arena, sizeof *copy);
  if (copy == NULL) {
    ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
    return NULL;
  }
  *copy = s;
  return copy;
}

static void put_condition(CtEmit *e, CtVal cond, bool negated) {
  if (negated) {
    ct_emit_not(e, cond);
  } else {
    ct_emit_expr(e, cond, CT_PREC_ANY);
  }
}

static void put_if_head(CtEmit *e, CtVal v, bool negated) {
  CtVal cond = ct_inst(e->ir, v)->args[0];
  ct_text_puts(&e->body, "if (");
  put_condition(e, cond, negated);
  ct_text_puts(&e->body, ") ");
}

/* if (c) break; */
static bool emit_short_if(CtEmit *e, CtVal v, const Branches *b) {
  CtVal jump = sole_jump(e, ct_inst(e->ir, v)->u.regions[0]);
  if (jump == 0 || b->negated || !is_silent(e, &b->other)) {
    return false;
  }
  put_if_head(e, v, false);
  put_jump(e, jump);
  ct_emit_end(e);
  return true;
}

static void write_if(CtEmit *e, CtVal v, const Seq *rest) {
  Branches b;
  Seq after;
  branches_of(e, v, rest, &b);
  ct_emit_begin(e, ct_inst(e->ir, v)->loc);
  if (emit_short_if(e, v, &b)) {
    return;
  }
  put_if_head(e, v, b.negated);
  ct_text_putc(&e->body, '{');
  ct_emit_end(e);
  emit_body(e, &b.first);
  while (!is_silent(e, &b.other)) {
    CtVal next = sole_if(e, &b.other, &after);
    ct_emit_begin(e, next == 0 ? nowhere : ct_inst(e->ir, next)->loc);
    ct_text_puts(&e->body, "} else ");
    if (next == 0) {
      b = (Branches){.first = b.other};
    } else {
      branches_of(e, next, keep(e, after), &b);
      put_if_head(e, next, b.negated);
    }
    ct_text_putc(&e->body, '{');
    ct_emit_end(e);
    emit_body(e, &b.first);
  }
  ct_emit_line(e, nowhere, "}");
}

static void put_for(CtEmit *e, const CtInst *inst, const char *type, const char *i) {
  const CtInst *step = ct_inst(e->ir, inst->args[2]);
  bool up = step->facts.lo > 0;
  ct_emit_put(e, "for (%s %s = %c; %s %s %h; ", type, i, inst->args[0], i, up ? "<" : ">",
              inst->args[1]);
  if (step->op != CT_OP_CONST) {
    ct_emit_put(e, "%s += %c", i, inst->args[2]);
  } else if (step->imm.i == 1 || step->imm.i == -1) {
    ct_emit_put(e, "%s%s", i, up ? "++" : "--");
  } else { /* the least i64 has no opposite to subtract */
    bool adds = up || step->imm.i == INT64_MIN;
    ct_emit_put(e, "%s %s ", i, adds ? "+=" : "-=");
    ct_emit_int(e, (CtDtype)inst->type, adds ? step->imm.i : -step->imm.i);
  }
  ct_text_puts(&e->body, ") {");
  ct_emit_end(e);
}

/* Counts iterations, so that nothing overflows; computes the index from the count. */
static void put_for_counted(CtEmit *e, const CtInst *inst, const char *i) {
  const char *t = ct_names_add(&e->names, "trip");
  const char *n = ct_names_add(&e->names, "trips");
  const char *word = inst->type == CT_i32 ? "unsigned" : "unsigned long long";
  const char *type = ct_dtypes[inst->type].cuda;
  ct_emit_put(e, "for (unsigned long long %s = 0, %s = %s(%c, %c, %c); %s < %s; %s++) {", t, n,
              ct_emit_help(e, CT_HELP_FOR_TRIPS), inst->args[0], inst->args[1], inst->args[2], t, n,
              t);
  ct_emit_end(e);
  e->depth++;
  ct_emit_say(e, inst->loc, "const %s %s = (%s)((%s)%u + (%s)%s * %u);", type, i, type, word,
              inst->args[0], word, t, inst->args[2]);
  e->depth--;
}

static void put_for_head(CtEmit *e, const CtInst *inst, const char *i) {
  char text[80];
  const char *type = ct_dtypes[inst->type].cuda;
  const char *wide;
  switch (ct_emit_for_form(e->ir, inst)) {
    case CT_FOR_PLAIN: put_for(e, inst, type, i); break;
    case CT_FOR_WIDE: /* the counter may pass the end of int */
      snprintf(text, sizeof text, "%.60s_64", i);
      wide = ct_names_add(&e->names, text);
      put_for(e, inst, "long long", wide);
      e->depth++;
      ct_emit_line(e, inst->loc, "const %s %s = (%s)%s;", type, i, type, wide);
      e->depth--;
      break;
    case CT_FOR_COUNTED: put_for_counted(e, inst, i); break;
  }
}

static void write_for(CtEmit *e, CtVal v, const Seq *rest) {
  const CtInst *inst = ct_inst(e->ir, v);
  size_t mark = ct_names_mark(&e->names);
  Seq body = seq_of(e, inst->u.regions[0]);
  (void)rest;
  int64_t unroll = ct_emit_unroll(e, inst);
  if (unroll < 0) {
    ct_emit_line(e, inst->loc, "#pragma unroll");
  } else if (unroll > 0) {
    ct_emit_line(e, inst->loc, "#pragma unroll %" PRId64, unroll);
  }
  const char *i = ct_names_add_operand(&e->names, inst->name != NULL ? inst->name : "i");
  ct_emit_begin(e, inst->loc);
  put_for_head(e, inst, i);
  e->vals[v].name = i;
  ct_emit_open(e);
  ct_emit_declare_pointers(e, v, inst->loc);
  emit_seq(e, &body);
  ct_emit_close(e, mark);
  put_label(e, v);
}

/* If a LOOP begins with an IF that only leaves the loop in one of its regions: that region. */
static CtRegion leaving_region(const CtEmit *e, CtVal loop, CtVal first) {
  const CtInst *inst = ct_inst(e->ir, first);
  Seq other;
  if (first == 0 || inst->op != CT_OP_IF || e->vals[first].decls != 0 || e->vals[first].absorbs) {
    return 0;
  }
  other = seq_of(e, inst->u.regions[1]);
  for (int i = 0; i < 2; i++) {
    CtVal jump = sole_jump(e, inst->u.regions[i]);
    bool leaves = jump != 0 && ct_inst(e->ir, jump)->imm.i == loop;
    if (leaves && (i == 1 || is_silent(e, &other))) {
      return inst->u.regions[i];
    }
  }
  return 0;
}

/* while (c) if the body begins with the test, else for (;;). */
static void write_loop(CtEmit *e, CtVal v, const Seq *behind) {
  Seq body = seq_of(e, ct_inst(e->ir, v)->u.regions[0]), rest;
  CtVal first = first_of(e, &body, &rest);
  CtRegion leaving = leaving_region(e, v, first);
  const CtInst *test = ct_inst(e->ir, first);
  size_t mark = ct_names_mark(&e->names);
  (void)behind;
  ct_emit_begin(e, leaving != 0 ? test->loc : ct_inst(e->ir, v)->loc);
  if (leaving == 0) {
    ct_text_puts(&e->body, "for (;;) {");
  } else {
    ct_text_puts(&e->body, "while (");
    put_condition(e, test->args[0], leaving == test->u.regions[0]);
    ct_text_puts(&e->body, ") {");
  }
  ct_emit_end(e);
  ct_emit_open(e);
  if (leaving != 0) {
    body = leaving == test->u.regions[0] ? rest : seq_of(e, test->u.regions[0]);
    body.then = leaving == test->u.regions[0] ? rest.then : &rest;
  }
  emit_seq(e, &body);
  ct_emit_close(e, mark);
  put_label(e, v);
}

/* Braces only if a goto leaves the block: it must not pass a declaration. */
static void write_block(CtEmit *e, CtVal v, const Seq *rest) {
  Seq body = seq_of(e, ct_inst(e->ir, v)->u.regions[0]);
  (void)rest;
  if (!e->vals[v].has_label) {
    emit_seq(e, &body);
    return;
  }
  ct_emit_line(e, nowhere, "{");
  emit_body(e, &body);
  ct_emit_line(e, nowhere, "}");
  put_label(e, v);
}

/* REGIONs and JUMPs, by the rows of ops.def. `rest` is the text that follows. */
static void (*const writers[CT_OP_COUNT])(CtEmit *e, CtVal v, const Seq *rest) = {
#define PURE(...)
#define OP(NAME, text, n, result, cls, data, traits, engine, write, ...) ROW_##cls(NAME, write)
#define ROW_REGION(NAME, write) [CT_OP_##NAME] = write_##write,
#define ROW_JUMP ROW_REGION
#define ROW_LEAF(...)
#define ROW_READ(...)
#define ROW_EFFECT(...)
#define ROW_TILE(...)
#include "runtime/ir/ops.def"
};

/* --- choices ------------------------------------------------------------------------------------------ */

/* An IF of one line that only sets a variable in both parts: c ? a : b. It also evaluates only one
   arm. */
static bool is_choice(const CtEmit *e, CtVal v, CtVal var) {
  const CtInst *inst = ct_inst(e->ir, v);
  for (int i = 0; i < 2; i++) {
    CtVal only = sole(e, inst->u.regions[i]);
    const CtInst *arm = ct_inst(e->ir, only);
    bool sets = arm->op == CT_OP_SET && arm->imm.i == var && arm->loc.line == inst->loc.line;
    bool chooses = arm->op == CT_OP_IF && e->vals[only].decls == 0 && is_choice(e, only, var);
    if (only == 0 || (!sets && !chooses)) {
      return false;
    }
  }
  return !e->vals[v].absorbs;
}

/* The number of SETs in a choice. */
static uint32_t count_arms(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  return inst->op == CT_OP_SET ? 1
                               : count_arms(e, sole(e, inst->u.regions[0])) +
                                     count_arms(e, sole(e, inst->u.regions[1]));
}

static void put_choice(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->op == CT_OP_SET) {
    ct_emit_expr(e, inst->args[0], min);
    return;
  }
  ct_emit_put(e, "%s%l ? ", min > CT_PREC_COND ? "(" : "", inst->args[0]);
  put_choice(e, sole(e, inst->u.regions[0]), CT_PREC_LOR);
  ct_text_puts(&e->body, " : ");
  put_choice(e, sole(e, inst->u.regions[1]), CT_PREC_COND);
  ct_text_puts(&e->body, min > CT_PREC_COND ? ")" : "");
}

/* const float y = c ? a : b; for a variable that is declared here. */
static bool emit_choice(CtEmit *e, CtVal v) {
  CtVal var = e->vals[v].decls;
  if (ct_inst(e->ir, v)->op != CT_OP_IF || var == 0 || e->vals[var].next_decl != 0 ||
      e->vals[var].declares || !is_choice(e, v, var)) {
    return false;
  }
  ct_emit_begin(e, ct_inst(e->ir, v)->loc);
  const char *name = ct_emit_new_var_name(e, var);
  bool is_const = e->vals[var].n_uses == count_arms(e, v);
  ct_text_printf(&e->body, "%s%s %s = ", is_const ? "const " : "", ct_emit_type_of(e->ir, var),
                 name);
  put_choice(e, v, CT_PREC_COND);
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
  e->vals[var].name = name;
  return true;
}

/* --- all of them --------------------------------------------------------------------------------------- */

static void emit_inst(CtEmit *e, CtVal v, const Seq *rest) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (emit_choice(e, v)) {
    return;
  }
  ct_emit_declare_vars(e, v);
  if (e->marks != NULL && is_printed(e, v)) {
    ct_emit_mark_line(e, v);
  }
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_PURE:
    case CT_CLS_READ:
      if (e->vals[v].print == CT_PRINT_NAMED) {
        ct_emit_declare_value(e, v);
      }
      break;
    case CT_CLS_EFFECT: ct_emit_effect(e, v); break;
    case CT_CLS_REGION:
    case CT_CLS_JUMP: writers[inst->op](e, v, rest); break;
    case CT_CLS_TILE: ct_emit_tile(e, v); break;
    case CT_CLS_LEAF: break;
  }
  if (inst->op != CT_OP_FOR) {
    ct_emit_declare_pointers(e, v, inst->loc);
  }
}

static void emit_seq(CtEmit *e, const Seq *s) {
  for (; s != NULL; s = s->then) {
    for (CtVal v = s->from; v != 0 && e->status == CT_OK; v = next_of(e, v)) {
      Seq rest = {next_of(e, v), s->then};
      emit_inst(e, v, &rest);
      if (e->vals[v].absorbs) {
        return;
      }
    }
  }
}

void ct_emit_statements(CtEmit *e) {
  Seq all = seq_of(e, 1);
  emit_seq(e, &all);
}
