/* emit_stmt.c: operations with effects as statements, by their rows of ops.def. One function,
   write_row, writes all operations that need only a name, a number and their operands. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"

/* When the text contains the operation. */
typedef enum Gate {
  GATE_ALWAYS,
  GATE_ASYNC,   /* if anything is copied asynchronously */
  GATE_FROM_90, /* from sm_90 on; before, no text is needed */
  GATE_NEEDS_90 /* from sm_90 on; before, CUDA cannot express it */
} Gate;

typedef struct Effect {
  void (*write)(CtEmit *e, CtVal v);
  void (*put)(CtEmit *e, const CtInst *inst); /* for write_value: writes the expression */
  const char *text;                           /* a function of CUDA, or NULL for the helper */
  const char *assembly;                       /* an instruction without operands, or NULL */
  CtHelper helper;
  CtHelper wide; /* that of values of 64 bits, where it is another one */
  Gate gate;
  CtEmitAtomic atomic;
} Effect;

static const Effect *effect_of(const CtInst *inst);

/* --- variables and memory ----------------------------------------------------------------------- */

/* Does a SET change its variable by an operation whose first operand is the variable? */
static bool is_update(const CtEmit *e, const CtInst *set) {
  const CtInst *value = ct_inst(e->ir, set->args[0]);
  if (value->n_args == 0 || e->vals[set->args[0]].print != CT_PRINT_INLINE) {
    return false;
  }
  const CtInst *left = ct_inst(e->ir, value->args[0]);
  return left->op == CT_OP_GET && left->imm.i == set->imm.i &&
         e->vals[value->args[0]].print == CT_PRINT_INLINE;
}

static void write_set(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtVal var = (CtVal)inst->imm.i;
  const char *name = e->vals[v].declares ? ct_emit_new_var_name(e, var) : e->vals[var].name;
  if (e->vals[v].declares) {
    ct_emit_say(e, inst->loc, "%s %s = %v;", ct_emit_type_of(e->ir, var), name, inst->args[0]);
  } else {
    ct_emit_assign(e, inst->loc, name, inst->args[0], is_update(e, inst));
  }
  e->vals[var].name = name;
}

static void write_store(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  ct_emit_store(e, inst->loc, (uint32_t)inst->imm.i, inst->args[0], inst->args[1]);
}

/* The pointer is generic: the same instruction reaches other blocks' shared memory. */
static void write_remote(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  uint32_t id = (uint32_t)inst->imm.i;
  const CtBuf *buf = &e->ir->bufs[id], *of = &e->ir->bufs[buf->alias_of];
  const char *type = ct_dtypes[buf->dtype].cuda;
  bool casts = of->dtype != buf->dtype;
  if (buf->bar != 0 && !casts) { /* an asynchronous store maps the address itself */
    e->buf_names[id] = e->buf_names[buf->alias_of];
    return;
  }
  e->buf_names[id] = ct_names_add_operand(&e->names, buf->name);
  if (buf->bar != 0) {
    ct_emit_say(e, inst->loc, "%s* const %s = reinterpret_cast<%s*>(%s);", type, e->buf_names[id],
                type, e->buf_names[buf->alias_of]);
    return;
  }
  ct_emit_say(e, inst->loc, "%s* const %s = %s(%s%s%s%s%s, %c);", type, e->buf_names[id],
              ct_emit_help(e, CT_HELP_CLUSTER_MAP), casts ? "reinterpret_cast<" : "",
              casts ? type : "", casts ? "*>(" : "", e->buf_names[buf->alias_of], casts ? ")" : "",
              inst->args[0]);
}

static void write_async_store(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  uint32_t id = (uint32_t)inst->imm.i;
  const CtBuf *buf = &e->ir->bufs[id];
  bool is_wide = ct_value_bytes(buf->dtype) == 8;
  const char *bits = is_wide ? "(unsigned long long)" : "(unsigned)";
  const char *of = !ct_is_float(buf->dtype) ? "("
                   : is_wide                ? "__double_as_longlong("
                                            : "__float_as_uint(";
  ct_emit_begin(e, inst->loc);
  const Effect *row = effect_of(inst);
  ct_emit_put(e, "%s(&", ct_emit_help(e, is_wide ? row->wide : row->helper));
  ct_emit_place(e, id, inst->args[0]);
  ct_emit_put(e, ", &%s[%v], %c, %s%s%c));", e->buf_names[buf->bar], inst->args[2], buf->remote,
              bits, of, inst->args[1]);
  ct_emit_end(e);
}

static void write_tensor_at(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  uint32_t id = (uint32_t)inst->imm.i;
  const CtBuf *buf = &e->ir->bufs[id];
  const char *type = ct_dtypes[buf->dtype].cuda, *constant = buf->is_written ? "" : "const ";
  e->buf_names[id] = ct_names_add_operand(&e->names, buf->name);
  if (buf->list != 0) {
    ct_emit_say(e, inst->loc, "%s%s* const %s = reinterpret_cast<%s%s*>(%s[%v]);", constant, type,
                e->buf_names[id], constant, type, e->buf_names[buf->list], inst->args[0]);
  } else {
    ct_emit_say(e, inst->loc, "%s%s* const %s = reinterpret_cast<%s%s*>(%v);", constant, type,
                e->buf_names[id], constant, type, inst->args[0]);
  }
}

/* --- expressions, and rows ---------------------------------------------------------------------- */

/* An operation with a result is declared if somebody uses it. Returns the name, or NULL. */
static const char *begin_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *name = inst->type != CT_VOID && e->vals[v].n_uses > 0 ? ct_emit_new_name(e, v) : NULL;
  ct_emit_begin(e, inst->loc);
  if (name != NULL) {
    ct_text_printf(&e->body, "const %s %s = ", ct_emit_type_of(e->ir, v), name);
  }
  return name;
}

static void end_value(CtEmit *e, CtVal v, const char *name) {
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
  e->vals[v].name = name;
}

static void write_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (e->vals[v].print == CT_PRINT_INLINE) {
    return;
  }
  const char *name = begin_value(e, v);
  effect_of(inst)->put(e, inst);
  end_value(e, v, name);
}

static void write_atomic(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *name = begin_value(e, v);
  ct_emit_atomic(e, inst, &effect_of(inst)->atomic);
  end_value(e, v, name);
}

/* What stands between the parentheses of a row's text. */
static void put_operands(CtEmit *e, const CtInst *inst) {
  CtOpData data = ct_ops[inst->op].data;
  for (int i = 0; i < inst->n_args; i++) {
    ct_text_puts(&e->body, i > 0 ? ", " : data == CT_DATA_BAR ? "&" : "");
    if (i == 0 && data == CT_DATA_BAR) {
      ct_emit_place(e, (uint32_t)inst->imm.i, inst->args[0]);
    } else {
      ct_emit_expr(e, inst->args[i], CT_PREC_COND);
    }
  }
  if (data == CT_DATA_NAMED) {
    ct_text_printf(&e->body, ", %" PRId64, inst->imm.i);
  }
}

static void fail_target(CtEmit *e, const CtInst *inst) {
  ct_emit_fail(e, inst->loc, CT_EUNSUPPORTED,
               "%s: it needs compute capability 9.0, but %s has %d.%d; write sync_cluster, or run "
               "it on the CPU engine",
               ct_ops[inst->op].text, e->ir->target.name, e->ir->target.sm / 10,
               e->ir->target.sm % 10);
}

/* The helper of an operation: where blocks reach each other's memory, the one with the cluster's scope. */
static CtHelper helper_of(const CtEmit *e, CtHelper own) {
  static const CtHelper of_cluster[CT_HELP_COUNT] = {
      [CT_HELP_MBAR_ARRIVE_AT] = CT_HELP_MBAR_ARRIVE_AT_OF_CLUSTER,
      [CT_HELP_MBAR_WAIT] = CT_HELP_MBAR_WAIT_OF_CLUSTER,
      [CT_HELP_MBAR_TEST] = CT_HELP_MBAR_TEST_OF_CLUSTER};
  if (own == CT_HELP_TCGEN05_COMMIT || own == CT_HELP_TCGEN05_COMMIT_TO) {
    return ct_emit_of_pair(e, own);
  }
  return e->reaches && of_cluster[own] != 0 ? of_cluster[own] : own;
}

/* name(operands); or name<number>(); */
static void write_row(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Effect *row = effect_of(inst);
  if (row->gate == GATE_NEEDS_90 && e->ir->target.sm < 90) {
    fail_target(e, inst);
  }
  if (ct_emit_is_dropped(e, inst)) {
    return;
  }
  const char *name = begin_value(e, v);
  if (row->assembly != NULL) {
    ct_text_printf(&e->body, "asm volatile(\"%s;\" ::: \"memory\")", row->assembly);
  } else {
    ct_text_puts(&e->body,
                 row->text != NULL ? row->text : ct_emit_help(e, helper_of(e, row->helper)));
    if (ct_ops[inst->op].data == CT_DATA_NUMBER) {
      ct_text_printf(&e->body, "<%" PRId64 ">", inst->imm.i);
    }
    ct_text_putc(&e->body, '(');
    put_operands(e, inst);
    ct_text_putc(&e->body, ')');
  }
  end_value(e, v, name);
}

/* --- operations with a function of their own
   ---------------------------------------------------- */

static void write_cp_wait(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (e->has_async && inst->imm.i == 0) {
    ct_emit_line(e, inst->loc, "%s();", ct_emit_help(e, CT_HELP_CP_WAIT_ALL));
  } else {
    write_row(e, v);
  }
}

static void write_grid_barrier(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (e->fault == NULL) {
    ct_emit_line(e, inst->loc, "%s(%s);", ct_emit_help(e, CT_HELP_GRID_BARRIER), e->grid_word);
  } else {
    ct_emit_line(e, inst->loc, "if (%s(%s, %s)) return;",
                 ct_emit_help(e, CT_HELP_GRID_BARRIER_OR_FAULT), e->grid_word, e->fault);
  }
}

static void write_fence(CtEmit *e, CtVal v) {
  static const char *const texts[] = {
      [0] = "__threadfence();",
      [CT_ORDER_SYS] = "__threadfence_system();",
      [CT_ORDER_ACQ_REL] = "asm volatile(\"fence.acq_rel.gpu;\" ::: \"memory\");",
      [CT_ORDER_ACQ_REL | CT_ORDER_SYS] = "asm volatile(\"fence.acq_rel.sys;\" ::: \"memory\");"};
  const CtInst *inst = ct_inst(e->ir, v);
  ct_emit_line(e, inst->loc, "%s", texts[inst->order & (CT_ORDER_ACQ_REL | CT_ORDER_SYS)]);
}

static void write_tma_wait(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  ct_emit_line(e, inst->loc, "asm volatile(\"cp.async.bulk.wait_group%s %d;\" ::: \"memory\");",
               (inst->imm.i & 1) != 0 ? "" : ".read", (int)(inst->imm.i >> 1));
}

static void write_wgmma_fence(CtEmit *e, CtVal v) {
  ct_emit_wgmma_holds(e, v);
  write_row(e, v);
}

static void write_wgmma_wait(CtEmit *e, CtVal v) {
  write_row(e, v);
  ct_emit_wgmma_holds(e, v);
}

static void put_bar_init(CtEmit *e, const CtInst *inst) {
  const CtBuf *buf = &e->ir->bufs[inst->imm.i];
  ct_text_printf(&e->body, "%s(%s, %" PRId64 ", %u)", ct_emit_help(e, CT_HELP_MBAR_INIT),
                 e->buf_names[inst->imm.i], buf->n_elems.v, buf->arrivals);
}

/* Raises or lowers the number of registers. */
static void write_setmaxnreg(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool more = inst->imm.i > ct_ir_first_registers(e->ir);
  ct_emit_line(e, inst->loc, "%s<%" PRId64 ">();",
               ct_emit_help(e, more ? CT_HELP_SETMAXNREG_INC : CT_HELP_SETMAXNREG_DEC),
               inst->imm.i);
}

/* Only `check` uses these operations; they leave no text. */
static void write_nothing(CtEmit *e, CtVal v) {
  (void)e;
  (void)v;
}

/* --- all of them -------------------------------------------------------------------------------- */

#define write_tma ct_emit_tma
#define write_tma_send ct_emit_tma_send
#define write_try_cancel ct_emit_try_cancel
#define write_mark ct_emit_mark
#define write_tmem_alloc ct_emit_tmem_alloc
#define write_tmem_dealloc ct_emit_tmem_dealloc
#define write_printf ct_emit_printf
#define write_assert ct_emit_assert
#define write_escape ct_emit_escape
#define put_shuffle ct_emit_shuffle
#define put_vote ct_emit_vote
#define put_masked ct_emit_masked

static const Effect effects[CT_OP_COUNT] = {
#define NONE .text = NULL
#define TEXT(name) .text = (name)
#define ASM(instruction) .assembly = (instruction)
#define HELPER(NAME) .helper = CT_HELP_##NAME
#define IF_ASYNC(NAME) .helper = CT_HELP_##NAME, .gate = GATE_ASYNC
#define FROM_90(NAME) .helper = CT_HELP_##NAME, .gate = GATE_FROM_90
#define NEEDS_90(NAME) .helper = CT_HELP_##NAME, .gate = GATE_NEEDS_90
#define BY_WIDTH(NAME) .helper = CT_HELP_##NAME##_32, .wide = CT_HELP_##NAME##_64
#define VALUE(name) .put = put_##name
#define I64 1u << CT_i64
#define F32 1u << CT_f32
#define F64 1u << CT_f64
#define ATOMIC(name, types) .atomic = {"atomic" name, types}
#define PURE(...)
#define OP(NAME, text, n, result, cls, data, traits, engine, write, ...)                           \
  ROW_##cls(NAME, write, __VA_ARGS__)
#define ROW_EFFECT(NAME, write, ...) [CT_OP_##NAME] = {write_##write, __VA_ARGS__},
#define ROW_LEAF(...)
#define ROW_READ(...)
#define ROW_REGION(...)
#define ROW_JUMP(...)
#define ROW_TILE(...)
#include "runtime/ir/ops.def"
};

static const Effect *effect_of(const CtInst *inst) { return &effects[inst->op]; }

bool ct_emit_is_dropped(const CtEmit *e, const CtInst *inst) {
  if (inst->op == CT_OP_MARK) {
    return e->marks == NULL;
  }
  switch (effect_of(inst)->gate) {
    case GATE_ALWAYS: return ct_ops[inst->op].data == CT_DATA_BUF && !e->buf_used[inst->imm.i];
    case GATE_ASYNC: return !e->has_async;
    case GATE_FROM_90: return e->ir->target.sm < 90;
    case GATE_NEEDS_90: return false;
  }
  CT_UNREACHABLE();
}

void ct_emit_effect(CtEmit *e, CtVal v) {
  ct_emit_mark_around(e, v, CT_MARK_BEFORE);
  effect_of(ct_inst(e->ir, v))->write(e, v);
  ct_emit_mark_around(e, v, CT_MARK_AFTER);
}
