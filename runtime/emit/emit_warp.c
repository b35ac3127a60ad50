/* emit_warp.c: operations of a warp and atomic operations as C expressions.

   Without a mask of the script, they name all lanes that the warp has: 0xffffffff, except in the last
   warp of a block whose number of threads is not a multiple of 32. */
#include <inttypes.h>
#include <limits.h>

#include "emit.h"

enum { LANES = 32 };

/* --- the mask ------------------------------------------------------------------------------------- */

static bool needs_mask(const CtEmit *e) {
  for (uint32_t i = 1; i < e->n_order; i++) {
    const CtInst *inst = ct_inst(e->ir, e->order[i]);
    bool is_whole = inst->op == CT_OP_MASKED && (inst->imm.i & CT_MASKED_WHOLE) != 0;
    if (inst->op == CT_OP_SHFL || inst->op == CT_OP_VOTE || is_whole) {
      return true;
    }
  }
  return false;
}

/* The thread's number in its block, computed from the axes that the block has. */
static void put_thread(CtEmit *e) {
  const int64_t *block = e->ir->block;
  const char *sep = "";
  int64_t stride = 1;
  for (int i = 0; i < 3; i++) {
    if (block[i] > 1) {
      ct_text_printf(&e->body, "%sthreadIdx.%c", sep, "xyz"[i]);
      if (stride > 1) {
        ct_text_printf(&e->body, " * %" PRId64, stride);
      }
      sep = " + ";
    }
    stride *= block[i];
  }
}

void ct_emit_declare_warp(CtEmit *e) {
  static const CtLoc nowhere = {0, 0};
  int64_t n = ct_ir_block_size(e->ir), whole = n / LANES * LANES;
  unsigned rest = (1u << (n - whole)) - 1;
  e->warp_mask = "0xffffffffu";
  if (n == whole || !needs_mask(e)) {
    return;
  }
  e->warp_mask = ct_names_add(&e->names, "warp_mask");
  ct_emit_begin(e, nowhere);
  ct_text_printf(&e->body, "const unsigned %s = ", e->warp_mask);
  if (whole > 0) {
    put_thread(e);
    ct_text_printf(&e->body, " < %" PRId64 " ? 0xffffffffu : ", whole);
  }
  ct_text_printf(&e->body, "0x%xu;", rest);
  ct_emit_end(e);
}

/* --- shuffles and votes ----------------------------------------------------------------------------- */

void ct_emit_shuffle(CtEmit *e, const CtInst *inst) {
  static const char *const shuffles[CT_SHFL_COUNT] = {"__shfl_up_sync", "__shfl_down_sync",
                                                      "__shfl_xor_sync", "__shfl_sync"};
  ct_emit_put(e, "%s(%s, %c, %c", shuffles[inst->imm.i & 0xff], e->warp_mask, inst->args[0],
              inst->args[1]);
  if (inst->imm.i >> 8 != LANES) {
    ct_text_printf(&e->body, ", %d", (int)(inst->imm.i >> 8));
  }
  ct_text_putc(&e->body, ')');
}

void ct_emit_vote(CtEmit *e, const CtInst *inst) {
  static const char *const names[CT_VOTE_COUNT] = {"__any_sync", "__all_sync", "__ballot_sync"};
  ct_emit_put(e, "%s(%s, %c)%s", names[inst->imm.i], e->warp_mask, inst->args[0],
              inst->imm.i == CT_VOTE_BALLOT ? "" : " != 0");
}

/* --- of some lanes ---------------------------------------------------------------------------------- */

/* CUDA's functions; a helper for what is none, or none before the compute capability `from`. */
static const struct {
  const char *cuda;
  CtHelper helper;
  int from;
} masked[CT_MASKED_COUNT] = {[CT_SHFL_UP] = {.cuda = "__shfl_up_sync"},
                             [CT_SHFL_DOWN] = {.cuda = "__shfl_down_sync"},
                             [CT_SHFL_XOR] = {.cuda = "__shfl_xor_sync"},
                             [CT_SHFL_IDX] = {.cuda = "__shfl_sync"},
                             [CT_MASKED_ANY] = {.cuda = "__any_sync"},
                             [CT_MASKED_ALL] = {.cuda = "__all_sync"},
                             [CT_MASKED_BALLOT] = {.cuda = "__ballot_sync"},
                             [CT_MASKED_MATCH_ANY] = {.cuda = "__match_any_sync"},
                             [CT_MASKED_MATCH_ALL] = {NULL, CT_HELP_MATCH_ALL, INT_MAX},
                             [CT_MASKED_ADD] = {"__reduce_add_sync", CT_HELP_REDUCE_ADD, 80},
                             [CT_MASKED_MIN] = {"__reduce_min_sync", CT_HELP_REDUCE_MIN, 80},
                             [CT_MASKED_MAX] = {"__reduce_max_sync", CT_HELP_REDUCE_MAX, 80},
                             [CT_MASKED_AND] = {"__reduce_and_sync", CT_HELP_REDUCE_AND, 80},
                             [CT_MASKED_OR] = {"__reduce_or_sync", CT_HELP_REDUCE_OR, 80},
                             [CT_MASKED_XOR] = {"__reduce_xor_sync", CT_HELP_REDUCE_XOR, 80}};

static const char *masked_function(CtEmit *e, int kind) {
  bool has = e->ir->target.sm >= masked[kind].from;
  return has ? masked[kind].cuda : ct_emit_help(e, masked[kind].helper);
}

static void put_mask(CtEmit *e, const CtInst *inst) {
  if ((inst->imm.i & CT_MASKED_WHOLE) != 0) {
    ct_text_puts(&e->body, e->warp_mask);
  } else {
    ct_emit_put(e, "%c", inst->args[2]);
  }
}

void ct_emit_masked(CtEmit *e, const CtInst *inst) {
  int kind = (int)(inst->imm.i & 0xff), width = (int)(inst->imm.i >> 8 & 0xff);
  bool is_shuffle = kind < CT_SHFL_COUNT;
  bool casts = inst->type == CT_i32 && kind >= CT_MASKED_AND; /* they are of unsigned only */
  ct_text_printf(&e->body, "%s%s(", casts ? "(int)" : "", masked_function(e, kind));
  put_mask(e, inst);
  ct_emit_put(e, casts ? ", (unsigned)(%c)" : ", %c", inst->args[0]);
  if (is_shuffle) {
    ct_emit_put(e, ", %c", inst->args[1]);
  }
  if (is_shuffle && width != LANES) {
    ct_text_printf(&e->body, ", %d", width);
  }
  ct_text_putc(&e->body, ')');
}

/* --- atomic operations -------------------------------------------------------------------------------- */

#define ULL "unsigned long long"

/* The type of the words as which the operation takes elements; NULL: it takes the elements
   themselves. */
static const char *word_of(const CtEmitAtomic *a, CtDtype type) {
  return (a->by_word >> type & 1) == 0 ? NULL : type == CT_f32 ? "int" : ULL;
}

/* A value of the element type from the bits of its word, and back. */
static const struct {
  const char *from, *to;
} word_casts[CT_DTYPE_COUNT] = {
    [CT_f32] = {"__int_as_float", "__float_as_int"},
    [CT_f64] = {"__longlong_as_double", "(" ULL ")__double_as_longlong"},
    [CT_i64] = {"(long long)", "(" ULL ")"},
    [CT_u32] = {"(unsigned)", "(int)"},
};

/* Sums of 16 bits: an instruction for each space, for bf16 only from sm_90 on; before that CAS, for
   either space. */
static const char *half_adder(CtEmit *e, CtOp op, const CtBuf *buf, bool is_sys) {
#define ADDERS(t)                                                                                  \
  { CT_HELP_ATOMIC_ADD_##t##_GLOBAL, CT_HELP_ATOMIC_ADD_##t##_SHARED, CT_HELP_ATOMIC_ADD_##t##_SYS }
  static const CtHelper adders[2][2][3] = {/* [bf16][two][shared, or 2 for the system] */
                                           {ADDERS(f16), ADDERS(f16x2)},
                                           {ADDERS(bf16), ADDERS(bf16x2)}};
#undef ADDERS
  static const CtHelper by_cas[2][2] = {
      {CT_HELP_ATOMIC_ADD_bf16_SOFT, CT_HELP_ATOMIC_ADD_bf16x2_SOFT},
      {CT_HELP_ATOMIC_ADD_bf16_SOFT_SYS, CT_HELP_ATOMIC_ADD_bf16x2_SOFT_SYS}};
  bool is_bf16 = buf->dtype == CT_bf16, two = op == CT_OP_ATOMIC_ADD2;
  if (!is_bf16 || e->ir->target.sm >= 90) {
    return ct_emit_help(e, adders[is_bf16][two][is_sys ? 2 : buf->space == CT_SHARED]);
  }
  (void)ct_emit_wrap(e, CT_f32, CT_bf16); /* they convert */
  (void)ct_emit_wrap(e, CT_bf16, CT_f32);
  if (is_sys && !two) {
    (void)ct_emit_help(e, CT_HELP_ATOMIC_CAS_16_SYS);
  }
  return ct_emit_help(e, by_cas[is_sys][two]);
}

/* Functions of our own: loads and stores have one for each width and order. */
static const char *mover(CtEmit *e, CtOp op, bool is_wide, unsigned order) {
#define MOVERS(op, NAME)                                                                           \
  { CT_HELP_ATOMIC_##op##_32##NAME, CT_HELP_ATOMIC_##op##_64##NAME }
#define ORDERS(op)                                                                                 \
  [CT_OP_ATOMIC_##op] = {[0] = MOVERS(op, ),                                                       \
                         [CT_ORDER_SYS] = MOVERS(op, _SYS),                                        \
                         [CT_ORDER_RELAXED] = MOVERS(op, _RELAXED),                                \
                         [CT_ORDER_SYS | CT_ORDER_RELAXED] = MOVERS(op, _RELAXED_SYS)}
  static const CtHelper movers[CT_OP_COUNT][4][2] = {ORDERS(LOAD), ORDERS(STORE)};
#undef ORDERS
#undef MOVERS
  return ct_emit_help(e, movers[op][order & (CT_ORDER_SYS | CT_ORDER_RELAXED)][is_wide]);
}

/* A float's minimum has no instruction, so it is made from CAS. NULL: CUDA has a function. */
static const char *float_extreme(CtEmit *e, CtOp op, CtDtype type, bool is_sys) {
  static const CtHelper of_floats[CT_OP_COUNT][2][2] = {
      [CT_OP_ATOMIC_MIN] = {{CT_HELP_ATOMIC_MIN_f32, CT_HELP_ATOMIC_MIN_f64},
                            {CT_HELP_ATOMIC_MIN_f32_SYS, CT_HELP_ATOMIC_MIN_f64_SYS}},
      [CT_OP_ATOMIC_MAX] = {{CT_HELP_ATOMIC_MAX_f32, CT_HELP_ATOMIC_MAX_f64},
                            {CT_HELP_ATOMIC_MAX_f32_SYS, CT_HELP_ATOMIC_MAX_f64_SYS}}};
  bool is_made = ct_is_float(type) && of_floats[op][0][0] != 0;
  return is_made ? ct_emit_help(e, of_floats[op][is_sys][ct_dtypes[type].bits == 64]) : NULL;
}

/* The function's name, and what comes after it. */
static const char *function_of(CtEmit *e, const CtInst *inst, const char *name,
                               const char **suffix) {
  CtOp op = (CtOp)inst->op;
  const CtBuf *buf = &e->ir->bufs[inst->imm.i];
  bool is_sys = (inst->order & CT_ORDER_SYS) != 0;
  *suffix = "";
  if (ct_dtypes[buf->dtype].bits == 16) {
    return half_adder(e, op, buf, is_sys);
  }
  if (name == NULL) {
    return mover(e, op, ct_dtypes[buf->dtype].bits == 64, inst->order);
  }
  const char *own = float_extreme(e, op, buf->dtype, is_sys);
  *suffix = own == NULL && is_sys ? "_system" : "";
  return own == NULL ? name : own;
}

/* Loads and stores have a function for each width. */
static const char *moved_word(CtDtype type) {
  bool is_own = type == CT_i32 || type == CT_u64;
  return is_own ? NULL : ct_dtypes[type].bits == 64 ? ULL : "int";
}

void ct_emit_atomic(CtEmit *e, const CtInst *inst, const CtEmitAtomic *a) {
  CtOp op = (CtOp)inst->op;
  CtDtype type = e->ir->bufs[inst->imm.i].dtype;
  bool moves = op == CT_OP_ATOMIC_LOAD || op == CT_OP_ATOMIC_STORE;
  const char *word = moves ? moved_word(type) : word_of(a, type);
  bool is_word = word != NULL, has_value = is_word && inst->type != CT_VOID;
  const char *suffix, *function = function_of(e, inst, a->name, &suffix);
  ct_emit_put(e, "%s%s%s%s(", has_value ? word_casts[type].from : "", has_value ? "(" : "",
              function, suffix);
  ct_emit_put(e, "%s%s%s&%s[%v]%s", is_word ? "reinterpret_cast<" : "", is_word ? word : "",
              is_word ? "*>(" : "", e->buf_names[inst->imm.i], inst->args[0], is_word ? ")" : "");
  for (int i = 1; i < inst->n_args; i++) {
    ct_emit_put(e, ", %s%s%c%s", is_word ? word_casts[type].to : "", is_word ? "(" : "",
                inst->args[i], is_word ? ")" : "");
  }
  ct_text_puts(&e->body, has_value ? "))" : ")");
}
