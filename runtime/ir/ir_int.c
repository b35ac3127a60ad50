/* ir_int.c: integers of the layout algebra that are values of an IR: arithmetic on them, and their values on the
   host. */
#include "ir_build.h"

#include <string.h>

CtInt ct_ir_int(const CtIr *ir, CtVal v) {
  if (ct_inst(ir, v)->op == CT_OP_CONST) {
    return ct_int(ct_inst(ir, v)->imm.i);
  }
  return (CtInt){.id = v, .kind = CT_DYNAMIC};
}

CtVal ct_ir_val(CtIr *ir, CtInt i, CtDtype type) {
  if (i.kind == CT_DYNAMIC) {
    return ct_ir_cast(ir, i.id, type);
  }
  return ct_ir_const_int(ir, type, i.v);
}

static bool fits_i32(const CtIr *ir, CtInt i) {
  if (i.kind == CT_DYNAMIC) {
    return ct_inst(ir, i.id)->type == CT_i32;
  }
  return i.v >= INT32_MIN && i.v <= INT32_MAX;
}

static const CtOp int_ops[] = {
    [CT_INT_ADD] = CT_OP_ADD,      [CT_INT_SUB] = CT_OP_SUB, [CT_INT_MUL] = CT_OP_MUL,
    [CT_INT_MIN] = CT_OP_MIN,      [CT_INT_MAX] = CT_OP_MAX, [CT_INT_DIV] = CT_OP_FLOORDIV,
    [CT_INT_MOD] = CT_OP_FLOORMOD, [CT_INT_XOR] = CT_OP_XOR,
};

/* The largest number that x can be. The range of an extent of 32 bits does not say what room such a tensor leaves:
   then loops up to it would be written with int, which an H200 runs 1 to 3 % more slowly. */
static int64_t most(const CtIr *ir, CtVal x) {
  const CtInst *inst = ct_inst(ir, x);
  bool is_extent = inst->op == CT_OP_PARAM && ir->slots[inst->imm.i].kind == CT_SLOT_EXTENT;
  return is_extent && inst->type == CT_i32 ? CT_MOST_NARROW - 1 : inst->facts.hi;
}

static CtVal of_sum(CtIr *ir, CtVal x, CtVal y) {
  CtVal one = ct_ir_const_int(ir, (CtDtype)ct_inst(ir, x)->type, 1);
  CtVal sum = ct_ir_binary_exact(ir, CT_OP_ADD, x, ct_ir_binary(ir, CT_OP_SUB, y, one));
  return ct_ir_binary(ir, CT_OP_FLOORDIV, sum, y);
}

static CtVal of_opposite(CtIr *ir, CtVal x, CtVal y) {
  CtVal q = ct_ir_binary(ir, CT_OP_FLOORDIV, ct_ir_unary(ir, CT_OP_NEG, x), y);
  return ct_ir_unary(ir, CT_OP_NEG, q);
}

/* The quotient rounded down, and 1 more if something is left. The product may wrap around: it differs
   from x by less than y. */
static CtVal and_rest(CtIr *ir, CtVal x, CtVal y) {
  CtVal q = ct_ir_binary(ir, CT_OP_FLOORDIV, x, y);
  CtVal left = ct_ir_binary(ir, CT_OP_NE, ct_ir_binary(ir, CT_OP_MUL, q, y), x);
  return ct_ir_binary(ir, CT_OP_ADD, q, ct_ir_cast(ir, left, (CtDtype)ct_inst(ir, x)->type));
}

/* x // y if y is known to divide x, (x + (y - 1)) // y if the ranges show that the sum fits, -(-x // y) if they
   show that -x fits. */
CtVal ct_ir_ceildiv(CtIr *ir, CtVal x, CtVal y) {
  CtDtype type = (CtDtype)ct_inst(ir, x)->type;
  CtFacts n = ct_inst(ir, x)->facts, d = ct_inst(ir, y)->facts;
  bool is_multiple = ct_facts_is_one(d) && d.lo > 0 && n.div % d.lo == 0;
  if (is_multiple && !ct_is_signed_view(CT_OP_FLOORDIV, type, n, d)) {
    return ct_ir_binary(ir, CT_OP_FLOORDIV, x, y);
  }
  if (n.lo >= 0 && d.lo > 0 && most(ir, x) < ct_dtype_max(type) - (d.hi - 1)) {
    return of_sum(ir, x, y);
  }
  bool has_opposite = !ct_is_unsigned(type) && n.lo > ct_dtype_min(type);
  return has_opposite ? of_opposite(ir, x, y) : and_rest(ir, x, y);
}

CtVal ct_ir_int_op(CtIr *ir, CtIntOp op, CtInt a, CtInt b) {
  CtDtype type = fits_i32(ir, a) && fits_i32(ir, b) ? CT_i32 : CT_i64;
  CtVal x = ct_ir_val(ir, a, type);
  CtVal y = ct_ir_val(ir, b, type);
  if (x == 0 || y == 0) {
    return 0;
  }
  return op == CT_INT_CEILDIV ? ct_ir_ceildiv(ir, x, y) : ct_ir_binary_exact(ir, int_ops[op], x, y);
}

/* --- evaluation on the host --------------------------------------------------------------------- */

/* Operations share operands, so a value of n operations may have 2^n paths to its leaves. We list its
   operations first, each once and after its operands, and then compute them in this order. */
enum { HASHED = 2 * (CT_SIZE_MAX_OPS + 1) };

typedef struct Listed {
  const CtIr *ir;
  int n;
  CtVal val[CT_SIZE_MAX_OPS];
  uint8_t at[HASHED]; /* by hash of a value: its place in val, from 1; 0: none */
} Listed;

static bool is_leaf(const CtInst *inst) {
  return inst->op == CT_OP_CONST || inst->op == CT_OP_PARAM;
}

/* The entry of `at` that has the value, or that would have it. */
static uint8_t *entry_of(Listed *l, CtVal v) {
  uint32_t i = (uint32_t)v * 2654435761u % HASHED;
  while (l->at[i] != 0 && l->val[l->at[i] - 1] != v) {
    i = (i + 1) % HASHED;
  }
  return &l->at[i];
}

/* Operations that ct_fold_ints knows, or that change the type. */
static bool is_operation(const CtInst *inst) {
  return ct_ops[inst->op].cls == CT_CLS_PURE && inst->n_args > 0 && inst->n_args < 3 &&
         !ct_is_float((CtDtype)inst->type);
}

/* The first operand that is to be listed before v; 0: none is left. *ok: no leaf depends on more than the
   arguments. */
static CtVal next_operand(Listed *l, CtVal v, bool *ok) {
  const CtInst *inst = ct_inst(l->ir, v);
  for (int i = 0; i < inst->n_args; i++) {
    const CtInst *arg = ct_inst(l->ir, inst->args[i]);
    if (is_leaf(arg)) {
      *ok = *ok && !ct_is_float((CtDtype)arg->type);
    } else if (*entry_of(l, inst->args[i]) == 0) {
      *ok = *ok && is_operation(arg);
      return inst->args[i];
    }
  }
  return 0;
}

/* Lists the operations of v. False: one depends on more than the arguments, or they are too many. */
static bool list_ops(const CtIr *ir, CtVal v, Listed *l) {
  CtVal path[CT_SIZE_MAX_OPS];
  int depth = 1;
  bool ok = is_operation(ct_inst(ir, v));
  l->ir = ir;
  l->n = 0;
  memset(l->at, 0, sizeof l->at);
  path[0] = v;
  while (ok && depth > 0) {
    CtVal top = path[depth - 1], operand = next_operand(l, top, &ok);
    if (operand != 0) {
      ok = ok && depth < CT_SIZE_MAX_OPS;
      if (ok) {
        path[depth++] = operand;
      }
    } else if ((ok = ok && l->n < CT_SIZE_MAX_OPS)) {
      l->val[l->n] = top;
      *entry_of(l, top) = (uint8_t)++l->n;
      depth--;
    }
  }
  return ok;
}

static int64_t value_of(Listed *l, CtVal v, const CtSlotValue *slots, const int64_t *values) {
  const CtInst *inst = ct_inst(l->ir, v);
  return inst->op == CT_OP_CONST   ? inst->imm.i
         : inst->op == CT_OP_PARAM ? slots[inst->imm.i].i
                                   : values[*entry_of(l, v) - 1];
}

/* The operation, of operands that have been computed; false: it has no value. */
static bool compute(Listed *l, CtVal v, const CtSlotValue *slots, const int64_t *values,
                    int64_t *out) {
  const CtInst *inst = ct_inst(l->ir, v);
  int64_t a = value_of(l, inst->args[0], slots, values);
  if (inst->op == CT_OP_CAST || inst->op == CT_OP_DYNAMIC) {
    *out = ct_dtype_wrap((CtDtype)inst->type, a);
    return true;
  }
  if (inst->n_args != 2 ||
      !ct_fold_ints((CtOp)inst->op, (CtDtype)ct_inst(l->ir, inst->args[0])->type, a,
                    value_of(l, inst->args[1], slots, values), out)) {
    return false;
  }
  *out = ct_dtype_wrap((CtDtype)inst->type, *out);
  return true;
}

static bool eval(const CtIr *ir, CtVal v, const CtSlotValue *slots, int64_t *out) {
  Listed l;
  int64_t values[CT_SIZE_MAX_OPS];
  const CtInst *inst = ct_inst(ir, v);
  if (is_leaf(inst)) {
    *out = inst->op == CT_OP_CONST ? inst->imm.i : slots[inst->imm.i].i;
    return !ct_is_float((CtDtype)inst->type);
  }
  bool ok = list_ops(ir, v, &l);
  for (int i = 0; ok && i < l.n; i++) {
    ok = compute(&l, l.val[i], slots, values, &values[i]);
  }
  *out = ok ? values[l.n - 1] : *out;
  return ok;
}

bool ct_ir_is_of_launch(const CtIr *ir, CtVal v) {
  Listed l;
  const CtInst *inst = ct_inst(ir, v);
  return is_leaf(inst) ? !ct_is_float((CtDtype)inst->type) : list_ops(ir, v, &l);
}

CtStatus ct_ir_eval(const CtIr *ir, CtVal v, const CtSlotValue *slots, int64_t *out, CtErr *err) {
  if (!eval(ir, v, slots, out)) {
    return ct_fail(err, CT_EINVAL,
                   "a size depends on more than the kernel's arguments, or on more than %d "
                   "operations with them",
                   CT_SIZE_MAX_OPS);
  }
  return CT_OK;
}
