/* test_simt_random.c: random structured programs on the CPU engine against an interpreter that runs
   the IR one thread at a time: nesting of IF, FOR, LOOP, BLOCK and BREAK, variables, memory of all
   spaces, with blocks that do not fill their warps. Variables and memory are of all types of up to 32
   bits: integers are cast, floats are only moved, as bits. */
#include "emit_kernels.h"

#include "runtime/base/convert.h"
#include "runtime/simt/simt.h"

#include "tap.h"

enum { N_IN = 64, PER_THREAD = 8, N_VARS = 4, MAX_DEPTH = 5, FUEL = 200000 };

static uint64_t state = 1;
static uint32_t random_below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* --- generating ------------------------------------------------------------------------------------- */

typedef struct Gen {
  Kit k;
  CtVal vars[N_VARS], own, param;
  CtDtype in_type, out_type, frag_type;
  CtView in, out, frag, shared;
  CtVal targets[MAX_DEPTH * 4];
  int n_targets, budget;
  CtVal live[256]; /* values that are in scope */
  int n_live;
} Gen;

static CtVal keep(Gen *g, CtVal v) {
  if (g->n_live < (int)CT_ARRAY_LEN(g->live)) {
    g->live[g->n_live++] = v;
  }
  return v;
}

static CtVal masked(Gen *g, CtVal v, int64_t mask) {
  return op2(&g->k, CT_OP_AND, v, num(&g->k, mask));
}

static CtVal expr(Gen *g, int depth);

static CtDtype random_type(void) {
  static const CtDtype types[] = {CT_i16, CT_i8,   CT_u16,    CT_u8,     CT_u32, CT_f16,
                                  CT_f32, CT_bf16, CT_f8e4m3, CT_f8e5m2, CT_tf32};
  uint32_t i = random_below(2 * CT_ARRAY_LEN(types));
  return i < CT_ARRAY_LEN(types) ? types[i] : CT_i32;
}

/* An integer type of the same width. */
static CtDtype bits_type(CtDtype t) {
  switch (ct_dtypes[t].bits) {
    case 8: return t == CT_f8e4m3 ? CT_i8 : CT_u8;
    case 16: return t == CT_f16 ? CT_i16 : CT_u16;
    default: return t == CT_tf32 ? CT_u32 : CT_i32;
  }
}

static CtVal to_i32(Gen *g, CtVal v) {
  CtIr *ir = &g->k.ir;
  CtDtype t = (CtDtype)ct_inst(ir, v)->type;
  if (random_below(4) == 0) { /* narrow values are chosen between, too */
    v = ct_ir_select(ir, lt(&g->k, tid(&g->k, 0), g->param), v, v);
  }
  return ct_ir_cast(ir, ct_is_float(t) ? ct_ir_bitcast(ir, v, bits_type(t)) : v, CT_i32);
}

static CtVal from_i32(Gen *g, CtDtype t, CtVal v) {
  CtIr *ir = &g->k.ir;
  return ct_is_float(t) ? ct_ir_bitcast(ir, ct_ir_cast(ir, v, bits_type(t)), t)
                        : ct_ir_cast(ir, v, t);
}

static CtVal load(Gen *g, CtView from, CtVal offset) {
  return keep(g, to_i32(g, ct_ir_load(&g->k.ir, from.buf, offset)));
}

static void store(Gen *g, CtView to, CtVal offset, CtVal v) {
  CtDtype t = g->k.ir.bufs[to.buf].dtype;
  ct_ir_store(&g->k.ir, to.buf, offset, from_i32(g, t, v));
}

static CtVal get_var(Gen *g, int i) { return to_i32(g, ct_ir_get(&g->k.ir, g->vars[i])); }

static void set_var(Gen *g, int i, CtVal v) {
  CtDtype t = (CtDtype)ct_inst(&g->k.ir, g->vars[i])->type;
  ct_ir_set(&g->k.ir, g->vars[i], from_i32(g, t, v));
}

/* An offset: affine in the thread's index, or anything. */
static CtVal in_offset(Gen *g) {
  Kit *k = &g->k;
  switch (random_below(4)) {
    case 0: return op2(k, CT_OP_FLOORMOD, add(k, tid(k, 0), num(k, random_below(9))), num(k, N_IN));
    case 1: return num(k, random_below(N_IN));
    case 2:
      return add(k, op2(k, CT_OP_FLOORMOD, tid(k, 0), num(k, 8)),
                 mul(k, masked(g, g->param, 3), num(k, 5)));
    default: return masked(g, expr(g, 2), N_IN - 1);
  }
}

static CtVal own_offset(Gen *g) {
  CtVal j = random_below(2) != 0 ? num(&g->k, random_below(PER_THREAD))
                                 : masked(g, expr(g, 2), PER_THREAD - 1);
  return add(&g->k, g->own, j);
}

static CtVal frag_offset(Gen *g) {
  switch (random_below(3)) {
    case 0: return masked(g, expr(g, 2), PER_THREAD - 1);
    case 1: return masked(g, g->param, PER_THREAD - 1);
    default: return num(&g->k, random_below(PER_THREAD));
  }
}

static CtVal condition(Gen *g) {
  static const CtOp ops[] = {CT_OP_LT, CT_OP_LE, CT_OP_EQ, CT_OP_NE};
  CtVal c = op2(&g->k, ops[random_below(4)], expr(g, 2), expr(g, 2));
  if (random_below(4) == 0) {
    CtVal d = op2(&g->k, CT_OP_LT, expr(g, 1), expr(g, 1));
    c = op2(&g->k, random_below(2) != 0 ? CT_OP_LAND : CT_OP_LOR, c, d);
  }
  return random_below(5) == 0 ? ct_ir_unary(&g->k.ir, CT_OP_LNOT, c) : c;
}

static CtVal leaf_expr(Gen *g) {
  Kit *k = &g->k;
  switch (random_below(8)) {
    case 0: return num(k, (int64_t)random_below(40) - 20);
    case 1: return tid(k, 0);
    case 2: return bid(k, 0);
    case 3: return g->param;
    case 4:
    case 5: return get_var(g, (int)random_below(N_VARS));
    default: return g->n_live > 0 ? g->live[random_below((uint32_t)g->n_live)] : tid(k, 0);
  }
}

/* An operation on u32. */
static CtVal unsigned_expr(Gen *g, int depth) {
  static const CtOp ops[] = {CT_OP_ADD, CT_OP_MUL, CT_OP_MIN,      CT_OP_MAX,
                             CT_OP_SHL, CT_OP_SHR, CT_OP_FLOORDIV, CT_OP_FLOORMOD};
  CtIr *ir = &g->k.ir;
  CtVal a = ct_ir_cast(ir, expr(g, depth - 1), CT_u32),
        b = ct_ir_cast(ir, expr(g, depth - 1), CT_u32);
  CtOp op = ops[random_below(CT_ARRAY_LEN(ops))];
  if (random_below(4) == 0) {
    return ct_ir_cast(ir, ct_ir_binary(ir, random_below(2) != 0 ? CT_OP_LT : CT_OP_LE, a, b),
                      CT_i32);
  }
  if (op == CT_OP_FLOORDIV || op == CT_OP_FLOORMOD) {
    b = ct_ir_const_int(ir, CT_u32, 1 + random_below(9));
  }
  return keep(g, ct_ir_cast(ir, ct_ir_binary(ir, op, a, b), CT_i32));
}

static CtVal expr(Gen *g, int depth) {
  static const CtOp ops[] = {CT_OP_ADD, CT_OP_SUB, CT_OP_MUL, CT_OP_XOR,  CT_OP_MIN,
                             CT_OP_MAX, CT_OP_SHL, CT_OP_SHR, CT_OP_ASHR, CT_OP_AND};
  Kit *k = &g->k;
  if (depth == 0) {
    return leaf_expr(g);
  }
  switch (random_below(10)) {
    case 0: return load(g, g->in, in_offset(g));
    case 1: return load(g, g->out, own_offset(g));
    case 2: return load(g, g->frag, frag_offset(g));
    case 3:
      return keep(g, ct_ir_select(&k->ir, condition(g), expr(g, depth - 1), expr(g, depth - 1)));
    case 4: return op2(k, CT_OP_FLOORDIV, expr(g, depth - 1), num(k, 1 + random_below(9)));
    case 6: return unsigned_expr(g, depth);
    case 5: return leaf_expr(g);
    default:
      return keep(
          g, op2(k, ops[random_below(CT_ARRAY_LEN(ops))], expr(g, depth - 1), expr(g, depth - 1)));
  }
}

static bool statements(Gen *g, int depth);

static void gen_if(Gen *g, int depth) {
  int n = g->n_live;
  CtVal v = ct_ir_if(&g->k.ir, condition(g));
  int m = g->n_live;
  statements(g, depth + 1);
  if (random_below(2) != 0) {
    g->n_live = m;
    ct_ir_else(&g->k.ir, v);
    statements(g, depth + 1);
  }
  ct_ir_end(&g->k.ir, v);
  g->n_live = n;
}

static void gen_for(Gen *g, int depth) {
  Kit *k = &g->k;
  int n = g->n_live;
  bool down = random_below(4) == 0;
  CtVal a = random_below(2) != 0 ? num(k, random_below(3)) : masked(g, expr(g, 1), 3);
  CtVal b = random_below(2) != 0 ? masked(g, g->param, 7) : masked(g, expr(g, 1), 7);
  CtVal step = num(k, down ? -1 - (int64_t)random_below(2) : 1 + random_below(3));
  CtVal v = down ? ct_ir_for(&k->ir, b, a, step, 0, "i") : ct_ir_for(&k->ir, a, b, step, 0, "i");
  keep(g, v);
  g->targets[g->n_targets++] = v;
  statements(g, depth + 1);
  g->n_targets--;
  ct_ir_end(&k->ir, v);
  g->n_live = n;
}

/* A loop that ends: it counts its iterations in a variable of its own. */
static void gen_loop(Gen *g, int depth) {
  Kit *k = &g->k;
  int n = g->n_live;
  CtVal count = ct_ir_var(&k->ir, CT_i32, "count");
  ct_ir_set(&k->ir, count, random_below(2) != 0 ? num(k, 0) : masked(g, expr(g, 1), 3));
  CtVal v = ct_ir_loop(&k->ir);
  CtVal next = add(k, ct_ir_get(&k->ir, count), num(k, 1));
  ct_ir_set(&k->ir, count, next);
  CtVal stop = ct_ir_if(&k->ir, lt(k, num(k, 5), next));
  ct_ir_break(&k->ir, v);
  ct_ir_end(&k->ir, stop);
  g->targets[g->n_targets++] = v;
  statements(g, depth + 1);
  g->n_targets--;
  ct_ir_end(&k->ir, v);
  g->n_live = n;
}

static void gen_block(Gen *g, int depth) {
  int n = g->n_live;
  CtVal v = ct_ir_block_begin(&g->k.ir);
  g->targets[g->n_targets++] = v;
  statements(g, depth + 1);
  g->n_targets--;
  ct_ir_block_end(&g->k.ir, v, true);
  g->n_live = n;
}

/* False when the region has ended: nothing may follow a BREAK. */
static bool statement(Gen *g, int depth) {
  Kit *k = &g->k;
  at(k, g->budget);
  switch (random_below(depth < MAX_DEPTH ? 12 : 7)) {
    case 0: store(g, g->out, own_offset(g), expr(g, 3)); break;
    case 1: store(g, g->frag, frag_offset(g), expr(g, 3)); break;
    case 2:
      if (g->n_targets > 0) {
        ct_ir_break(&k->ir, g->targets[random_below((uint32_t)g->n_targets)]);
        return false;
      }
      break;
    case 3:
    case 4:
    case 5:
    case 6: set_var(g, (int)random_below(N_VARS), expr(g, 3)); break;
    case 7:
    case 8: gen_if(g, depth); break;
    case 9: gen_for(g, depth); break;
    case 10: gen_loop(g, depth); break;
    default: gen_block(g, depth); break;
  }
  return true;
}

static bool statements(Gen *g, int depth) {
  int n = 1 + (int)random_below(5);
  for (int i = 0; i < n && g->budget > 0; i++) {
    g->budget--;
    if (!statement(g, depth)) {
      return false;
    }
  }
  return true;
}

static void generate(Gen *g, uint64_t seed, int64_t block) {
  Kit *k = &g->k;
  state = seed * 2 + 1;
  kit_begin(k, "random", 0, block, 1);
  at(k, 1);
  g->in_type = random_type();
  g->out_type = random_type();
  g->frag_type = random_type();
  g->in = tensor(k, "input", g->in_type, "(?)", "(1)");
  g->out = tensor(k, "output", g->out_type, "(?)", "(1)");
  g->param = ct_ir_number(&k->ir, "p", CT_i32, (CtFacts){INT32_MIN, INT32_MAX, 1});
  g->frag = ct_ir_fragment(&k->ir, "frag", g->frag_type, lay(k, "8:1"));
  g->n_targets = g->n_live = 0;
  g->budget = 60;
  CtVal i = add(k, mul(k, bid(k, 0), num(k, block)), tid(k, 0));
  g->own = mul(k, i, num(k, PER_THREAD));
  for (int v = 0; v < N_VARS; v++) {
    g->vars[v] = ct_ir_var(&k->ir, random_type(), "v");
    set_var(g, v, num(k, v));
  }
  for (int j = 0; j < PER_THREAD; j++) {
    store(g, g->frag, num(k, j), add(k, tid(k, 0), num(k, j)));
  }
  while (g->budget > 0 && statements(g, 0)) {}
  for (int v = 0; v < N_VARS; v++) {
    store(g, g->out, add(k, g->own, num(k, v)), get_var(g, v));
  }
  store(g, g->out, add(k, g->own, num(k, N_VARS)), load(g, g->frag, num(k, 3)));
  kit_must(k, ct_ir_check(&k->ir, &k->err));
}

/* --- one thread at a time ----------------------------------------------------------------------------- */

typedef struct Thread {
  const Gen *g;
  int32_t *vals; /* by value number; variables too. A u32 as these bits, a float as its bits */
  const char *in;
  char *out;
  int32_t frag[PER_THREAD], param, tid, bid;
  int fuel;
  CtVal leaving; /* the construct that a BREAK leaves; 0 none */
} Thread;

static int32_t wrap(int64_t v) { return (int32_t)(uint32_t)(uint64_t)v; }

static CtDtype type_of(const Thread *t, CtVal v) { return (CtDtype)ct_inst(&t->g->k.ir, v)->type; }

static int32_t of_bits(CtDtype t, uint32_t bits) {
  return (int32_t)(ct_is_float(t) ? bits : (uint32_t)ct_int_of_bits(t, bits));
}

static int32_t bitcast(CtDtype to, CtDtype from, int32_t v) {
  return of_bits(to, (uint32_t)ct_bits_of_int(bits_type(from), v));
}

static int32_t pure(const Thread *t, const CtInst *inst) {
  int64_t a = t->vals[inst->args[0]], b = inst->n_args > 1 ? t->vals[inst->args[1]] : 0;
  CtDtype from = type_of(t, inst->args[0]), to = (CtDtype)inst->type;
  if (from == CT_u32) {
    a = (uint32_t)a;
    b = (uint32_t)b;
  }
  switch ((CtOp)inst->op) {
    case CT_OP_CAST: return (int32_t)(uint32_t)ct_dtype_wrap(to, a);
    case CT_OP_BITCAST: return bitcast(to, from, (int32_t)a);
    case CT_OP_ADD: return wrap(a + b);
    case CT_OP_SUB: return wrap(a - b);
    case CT_OP_MUL: return wrap((int64_t)((uint64_t)a * (uint64_t)b));
    case CT_OP_NEG: return wrap(-a);
    case CT_OP_XOR: return (int32_t)(a ^ b);
    case CT_OP_AND: return (int32_t)(a & b);
    case CT_OP_MIN: return (int32_t)(a < b ? a : b);
    case CT_OP_MAX: return (int32_t)(a < b ? b : a);
    case CT_OP_SHL:
    case CT_OP_SHR:
      b = from == CT_u32 && b > 32 ? 32 : b;
      if (inst->op == CT_OP_SHR) {
        b = -b;
      }
      return b <= -32 || b >= 32 ? 0
             : b >= 0            ? wrap((int64_t)((uint64_t)(uint32_t)a << b))
                                 : wrap((uint32_t)a >> -b);
    case CT_OP_ASHR:
      return b <= -32 ? 0
             : b < 0  ? wrap((int64_t)((uint64_t)(uint32_t)a << -b))
                      : (int32_t)ct_floordiv(a, (int64_t)1 << (b < 32 ? b : 32));
    case CT_OP_FLOORDIV: return wrap(a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case CT_OP_FLOORMOD: return wrap(a - (a / b - (a % b != 0 && (a < 0) != (b < 0))) * b);
    case CT_OP_LT: return a < b;
    case CT_OP_LE: return a <= b;
    case CT_OP_EQ: return a == b;
    case CT_OP_NE: return a != b;
    case CT_OP_LAND: return (a & b) != 0;
    case CT_OP_LOR: return (a | b) != 0;
    case CT_OP_LNOT: return a == 0;
    case CT_OP_SELECT: return a != 0 ? t->vals[inst->args[1]] : t->vals[inst->args[2]];
    default: printf("Bail out! no %s\n", ct_ops[inst->op].text); exit(1);
  }
}

static void access(Thread *t, const CtInst *inst, int32_t *v, bool is_store) {
  int32_t off = t->vals[inst->args[0]];
  if (inst->imm.i == t->g->frag.buf) {
    *(is_store ? &t->frag[off] : v) = *(is_store ? v : &t->frag[off]);
    return;
  }
  CtDtype type = t->g->k.ir.bufs[inst->imm.i].dtype;
  size_t bytes = ct_value_bytes(type), at = (size_t)off * bytes;
  uint32_t bits = (uint32_t)*v;
  if (is_store) {
    memcpy(t->out + at, &bits, bytes);
    return;
  }
  bits = 0;
  memcpy(&bits, (inst->imm.i == t->g->in.buf ? t->in : t->out) + at, bytes);
  *v = of_bits(type, bits);
}

static void interpret(Thread *t, CtRegion r);

static void interpret_for(Thread *t, CtVal v, const CtInst *inst) {
  int64_t i = t->vals[inst->args[0]], stop = t->vals[inst->args[1]], step = t->vals[inst->args[2]];
  for (; (step > 0 ? i < stop : i > stop) && t->leaving == 0; i += step) {
    t->vals[v] = (int32_t)i;
    interpret(t, inst->u.regions[0]);
  }
  t->leaving = t->leaving == v ? 0 : t->leaving;
}

static void interpret_inst(Thread *t, CtVal v) {
  const CtInst *inst = ct_inst(&t->g->k.ir, v);
  t->fuel--;
  switch ((CtOp)inst->op) {
    case CT_OP_LOAD: access(t, inst, &t->vals[v], false); break;
    case CT_OP_STORE: access(t, inst, &t->vals[inst->args[1]], true); break;
    case CT_OP_GET: t->vals[v] = t->vals[inst->imm.i]; break;
    case CT_OP_SET: t->vals[inst->imm.i] = t->vals[inst->args[0]]; break;
    case CT_OP_IF: interpret(t, inst->u.regions[t->vals[inst->args[0]] != 0 ? 0 : 1]); break;
    case CT_OP_FOR: interpret_for(t, v, inst); break;
    case CT_OP_LOOP:
      while (t->leaving == 0 && t->fuel > 0) {
        interpret(t, inst->u.regions[0]);
      }
      t->leaving = t->leaving == v ? 0 : t->leaving;
      break;
    case CT_OP_BLOCK:
      interpret(t, inst->u.regions[0]);
      t->leaving = t->leaving == v ? 0 : t->leaving;
      break;
    case CT_OP_BREAK: t->leaving = (CtVal)inst->imm.i; break;
    default: t->vals[v] = pure(t, inst); break;
  }
}

static void interpret(Thread *t, CtRegion r) {
  CtVal v = r == 0 ? 0 : t->g->k.ir.regions[r].first;
  for (; v != 0 && t->leaving == 0; v = ct_inst(&t->g->k.ir, v)->next) {
    interpret_inst(t, v);
  }
}

static void set_leaves(Thread *t) {
  for (CtVal v = 1; v < t->g->k.ir.n_insts; v++) {
    const CtInst *inst = ct_inst(&t->g->k.ir, v);
    switch ((CtOp)inst->op) {
      case CT_OP_CONST:
        t->vals[v] = ct_is_float((CtDtype)inst->type)
                         ? (int32_t)ct_bits_of_float((CtDtype)inst->type, inst->imm.f)
                         : (int32_t)inst->imm.i;
        break;
      case CT_OP_TID: t->vals[v] = t->tid; break;
      case CT_OP_BID: t->vals[v] = t->bid; break;
      case CT_OP_PARAM: t->vals[v] = t->param; break; /* extents are not used */
      default: t->vals[v] = 0; break;
    }
  }
}

/* True when all threads came to their end. */
static bool run_threads(const Gen *g, const char *in, char *out, int32_t param, int grid,
                        int block) {
  Thread t = {.g = g, .in = in, .out = out, .param = param};
  t.vals = malloc(g->k.ir.n_insts * sizeof *t.vals);
  bool ended = true;
  for (t.bid = 0; t.bid < grid; t.bid++) {
    for (t.tid = 0; t.tid < block; t.tid++) {
      set_leaves(&t);
      t.fuel = FUEL;
      interpret(&t, 1);
      ended = ended && t.fuel > 0;
    }
  }
  free(t.vals);
  return ended;
}

/* --- comparing ------------------------------------------------------------------------------------------ */

static bool agrees(Gen *g, CtSimtEngine *e, int grid, int block, int32_t param) {
  size_t n = (size_t)(grid * block * PER_THREAD);
  char in[4 * N_IN];
  size_t bytes = ct_value_bytes(g->out_type), in_bytes = ct_value_bytes(g->in_type);
  char *want = calloc(n, bytes), *got = calloc(n, bytes);
  for (size_t i = 0; i < N_IN; i++) {
    uint32_t bits = (uint32_t)((int)i * 37 % 61 - 30);
    memcpy(in + i * in_bytes, &bits, in_bytes);
  }
  bool ended = run_threads(g, in, want, param, grid, block);
  const CtIr *ir = &g->k.ir;
  CtSlotValue slots[8];
  slots[ir->params[0].first_slot].ptr = in;
  slots[ir->params[0].first_slot + 1].i = N_IN;
  slots[ir->params[1].first_slot].ptr = got;
  slots[ir->params[1].first_slot + 1].i = (int64_t)n;
  slots[ir->params[2].first_slot].i = param;
  int64_t n_elems[3] = {N_IN, (int64_t)n, 0};
  CtSimtProgram *p;
  kit_must(&g->k, ct_simt_lower(ct_alloc_std, ir, &p, &g->k.err));
  CtSimtLaunch launch = {.grid = {grid, 1, 1}, .slots = slots, .n_elems = n_elems};
  bool same = true;
  if (ended) {
    CtStatus status = ct_simt_run(e, p, &launch, &g->k.err);
    same = status == CT_OK && memcmp(want, got, n * bytes) == 0;
    for (size_t i = 0; status == CT_OK && i < n; i++) {
      if (memcmp(want + i * bytes, got + i * bytes, bytes) != 0) {
        tap_diag("thread %zu, element %zu of %s", i / PER_THREAD, i % PER_THREAD,
                 ct_dtypes[g->out_type].name);
        break;
      }
    }
    if (status != CT_OK) {
      tap_diag("line %d: %s", g->k.err.line, g->k.err.msg);
    }
  }
  ct_simt_free(p);
  free(want);
  free(got);
  return same;
}

static void show(Gen *g) {
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  ct_ir_print(&g->k.ir, &text);
  for (const char *s = ct_text_str(&text); *s != '\0';) {
    int n = (int)strcspn(s, "\n");
    printf("# %.*s\n", n, s);
    s += n + (s[n] == '\n');
  }
  ct_text_clear(&text);
}

int main(int argc, char **argv) {
  static Gen g;
  CtErr err;
  CtSimtEngine *engines[2];
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : SOME_OF(600);
  if (ct_simt_open(ct_alloc_std, 2, NULL, &engines[0], &err) != CT_OK ||
      ct_simt_open(ct_alloc_std, 1, "base", &engines[1], &err) != CT_OK) {
    printf("Bail out! %s\n", err.msg);
    return 1;
  }
  int wrong = 0;
  for (uint64_t seed = first; seed < first + n && wrong < 3; seed++) {
    static const int blocks[] = {32, 64, 7, 50, 1, 96};
    int block = blocks[seed % CT_ARRAY_LEN(blocks)];
    generate(&g, seed, block);
    bool right =
        agrees(&g, engines[seed % 2], 1 + (int)(seed % 3), block, (int32_t)(seed * 5 % 23));
    if (!right) {
      wrong++;
      tap_diag("seed %llu, block of %d", (unsigned long long)seed, block);
      if (argc == 2) {
        show(&g);
      }
    }
    ct_ir_clear(&g.k.ir);
  }
  IS_INT(wrong, 0, "%llu random programs give what their threads give one by one",
         (unsigned long long)n);
  ct_simt_close(engines[0]);
  ct_simt_close(engines[1]);
  return done_testing();
}
