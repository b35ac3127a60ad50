/* calls_core.c: random sequences of calls of ct.h that build a kernel: values of all types, branches, loops,
   variables, shared memory, atomics, votes and shuffles. What finishes is printed, emitted, lowered and
   run; what does not says why, in one line. */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "runtime/ct.h"

enum { N_TYPES = 7, POOL = 48, N = 64, DEPTH = 3, STATEMENTS = 10, N_VARS = 4 };

static const CtDtype types[N_TYPES] = {CT_i32, CT_i64, CT_u32, CT_u64, CT_f32, CT_f64, CT_bool};
enum { I32, I64, U32, U64, F32, F64, BOOL };
static const int var_types[N_VARS] = {I32, I32, F32, I64};

/* A kernel under way: its values by type, as far as the region sees them. */
typedef struct Build {
  Bytes *in;
  CtIr *ir;
  CtVal pool[N_TYPES][POOL];
  int n[N_TYPES];
  CtVal vars[N_VARS];
  uint32_t x, y, s; /* buffers: f32 and i32 in global memory, f32 in shared memory */
  int depth;        /* regions that may still be opened; DEPTH: all threads are here */
} Build;

static void must(bool ok) {
  if (!ok) {
    abort();
  }
}

/* {====== Values ====== */

static void keep(Build *b, int type, CtVal v) {
  if (v != 0) {
    int at = b->n[type] < POOL ? b->n[type]++ : (int)below(b->in, POOL);
    b->pool[type][at] = v;
  }
}

static CtVal constant(Build *b, int type) {
  static const double floats[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1e38, 1e-45, 1e308, -2.5};
  if (type == F32 || type == F64) {
    return ct_ir_const_float(b->ir, types[type], PICK(b->in, floats));
  }
  int64_t v = next_integer(b->in);
  return ct_ir_const_int(b->ir, types[type], type == BOOL ? v & 1 : v);
}

static CtVal value(Build *b, int type) {
  bool fresh = b->n[type] == 0 || once_in(b->in, 4);
  return fresh ? constant(b, type) : b->pool[type][below(b->in, (unsigned)b->n[type])];
}

/* 0 .. n - 1 */
static CtVal offset(Build *b, int64_t n) {
  return ct_ir_binary(b->ir, CT_OP_FLOORMOD, value(b, I32), ct_ir_const_int(b->ir, CT_i32, n));
}

static int number_type(Build *b) { return (int)below(b->in, BOOL); }
static int integer_type(Build *b) { return (int)below(b->in, F32); }
static int float_type(Build *b) { return F32 + (int)below(b->in, 2); }

/* {====== Calls ====== */

static void arithmetic(Build *b) {
  static const CtOp ops[] = {CT_OP_ADD, CT_OP_SUB, CT_OP_MUL, CT_OP_MIN, CT_OP_MAX};
  int t = number_type(b);
  keep(b, t, ct_ir_binary(b->ir, PICK(b->in, ops), value(b, t), value(b, t)));
}

static void bits(Build *b) {
  static const CtOp ops[] = {CT_OP_AND, CT_OP_OR, CT_OP_XOR, CT_OP_SHL, CT_OP_SHR};
  int t = integer_type(b);
  keep(b, t, ct_ir_binary(b->ir, PICK(b->in, ops), value(b, t), value(b, t)));
}

static void division(Build *b) {
  static const CtOp ops[] = {CT_OP_FLOORDIV, CT_OP_FLOORMOD};
  int t = integer_type(b);
  CtVal one = ct_ir_const_int(b->ir, types[t], 1);
  CtVal divisor = ct_ir_binary(b->ir, CT_OP_OR, value(b, t), one);
  keep(b, t, ct_ir_binary(b->ir, PICK(b->in, ops), value(b, t), divisor));
}

static void of_float(Build *b) {
  static const CtOp ops[] = {CT_OP_FLOOR, CT_OP_CEIL, CT_OP_SQRT, CT_OP_ABS, CT_OP_NEG};
  int t = float_type(b);
  keep(b, t, ct_ir_unary(b->ir, PICK(b->in, ops), value(b, t)));
  keep(b, t, ct_ir_binary(b->ir, CT_OP_DIV, value(b, t), value(b, t)));
  keep(b, F32, ct_ir_fma(b->ir, value(b, F32), value(b, F32), value(b, F32)));
}

static void comparison(Build *b) {
  static const CtOp ops[] = {CT_OP_EQ, CT_OP_NE, CT_OP_LT, CT_OP_LE};
  int t = number_type(b);
  keep(b, BOOL, ct_ir_binary(b->ir, PICK(b->in, ops), value(b, t), value(b, t)));
}

static void choice(Build *b) {
  int t = number_type(b);
  keep(b, t, ct_ir_select(b->ir, value(b, BOOL), value(b, t), value(b, t)));
}

static void conversion(Build *b) {
  int from = number_type(b), to = number_type(b);
  keep(b, to, ct_ir_cast(b->ir, value(b, from), types[to]));
  keep(b, I32, ct_ir_bitcast(b->ir, value(b, F32), CT_i32));
  keep(b, F64, ct_ir_bitcast(b->ir, value(b, I64), CT_f64));
}

static void axis(Build *b) {
  static const CtOp ops[] = {CT_OP_TID, CT_OP_BID, CT_OP_GDIM};
  keep(b, I32, ct_ir_axis(b->ir, PICK(b->in, ops), (int)below(b->in, 3)));
}

static void load(Build *b) {
  keep(b, F32, ct_ir_load(b->ir, b->x, offset(b, N)));
  keep(b, I32, ct_ir_load(b->ir, b->y, offset(b, N)));
  keep(b, F32, ct_ir_load(b->ir, b->s, offset(b, N)));
}

static void store(Build *b) {
  switch (below(b->in, 3)) {
    case 0: ct_ir_store(b->ir, b->x, offset(b, N), value(b, F32)); break;
    case 1: ct_ir_store(b->ir, b->y, offset(b, N), value(b, I32)); break;
    default: ct_ir_store(b->ir, b->s, offset(b, N), value(b, F32)); break;
  }
}

static void atomic(Build *b) {
  (void)ct_ir_atomic(b->ir, CT_OP_ATOMIC_ADD, b->y, offset(b, N), value(b, I32), 0);
}

static void variable(Build *b) {
  unsigned i = below(b->in, N_VARS);
  if (once_in(b->in, 2)) {
    ct_ir_set(b->ir, b->vars[i], value(b, var_types[i]));
  } else {
    keep(b, var_types[i], ct_ir_get(b->ir, b->vars[i]));
  }
}

/* Of whole warps, and so where no branch has parted them. */
static void warp(Build *b) {
  if (b->depth == DEPTH) {
    int t = once_in(b->in, 2) ? I32 : F32;
    keep(b, U32, ct_ir_vote(b->ir, CT_VOTE_BALLOT, value(b, BOOL)));
    keep(b, BOOL, ct_ir_vote(b->ir, CT_VOTE_ANY, value(b, BOOL)));
    keep(b, t,
         ct_ir_shfl(b->ir, (CtShfl)below(b->in, 4), value(b, t), value(b, I32),
                    1 << below(b->in, 6)));
  }
}

static void statements(Build *b);

/* What is made in it is not seen after it. */
static void region(Build *b) {
  int n[N_TYPES];
  memcpy(n, b->n, sizeof n);
  b->depth--;
  statements(b);
  b->depth++;
  memcpy(b->n, n, sizeof n);
}

static void branch(Build *b) {
  if (b->depth > 0) {
    CtVal op = ct_ir_if(b->ir, value(b, BOOL));
    region(b);
    if (once_in(b->in, 2)) {
      ct_ir_else(b->ir, op);
      region(b);
    }
    ct_ir_end(b->ir, op);
  }
}

static void loop(Build *b) {
  if (b->depth > 0) {
    CtVal start = ct_ir_const_int(b->ir, CT_i32, (int64_t)below(b->in, 5) - 1);
    CtVal stop = once_in(b->in, 2) ? ct_ir_const_int(b->ir, CT_i32, below(b->in, 5)) : offset(b, 5);
    CtVal step = ct_ir_const_int(b->ir, CT_i32, 1 + below(b->in, 3));
    CtVal op = ct_ir_for(b->ir, start, stop, step, below(b->in, 3), "i");
    int n = b->n[I32];
    keep(b, I32, op);
    region(b);
    b->n[I32] = n < b->n[I32] ? n : b->n[I32];
    ct_ir_end(b->ir, op);
  }
}

static void (*const calls[])(Build *b) = {
    arithmetic, arithmetic, bits, division, of_float, comparison, choice,   branch, loop,
    axis,       conversion, load, variable, store,    atomic,     variable, warp,   store};

static void statements(Build *b) {
  int n = 1 + (int)below(b->in, STATEMENTS);
  for (int i = 0; i < n && b->in->at < b->in->n; i++) {
    ct_ir_at(b->ir, "calls", 1 + (int)below(b->in, 100));
    calls[below(b->in, sizeof calls / sizeof *calls)](b);
  }
}

/* {====== A kernel ====== */

static uint32_t tensor(CtIr *ir, const char *name, CtDtype dtype) {
  const CtTensorSpec spec = {.name = name,
                             .dtype = dtype,
                             .index = CT_i32,
                             .align = 16,
                             .shape = ct_leaf(&ir->arena, ct_int(N)),
                             .stride = ct_leaf(&ir->arena, ct_int(1))};
  return ct_ir_tensor(ir, &spec).buf;
}

static void build(Build *b) {
  CtIr *ir = b->ir;
  ct_ir_at(ir, "calls", 1);
  ir->name = "calls";
  b->x = tensor(ir, "x", CT_f32);
  b->y = tensor(ir, "y", CT_i32);
  keep(b, I32, ct_ir_number(ir, "a", CT_i32, (CtFacts){INT32_MIN, INT32_MAX, 1}));
  CtLayout shared = {ct_leaf(&ir->arena, ct_int(N)), ct_leaf(&ir->arena, ct_int(1))};
  b->s = ct_ir_shared(ir, "s", CT_f32, shared).buf;
  for (int i = 0; i < N_VARS; i++) {
    b->vars[i] = ct_ir_var(ir, types[var_types[i]], "v");
    ct_ir_set(ir, b->vars[i], constant(b, var_types[i]));
  }
  statements(b);
  ct_ir_store(ir, b->y, offset(b, N), ct_ir_get(ir, b->vars[0]));
}

static void write_texts(const CtIr *ir) {
  static const CtEmitOpts opts = {.line_directives = true};
  CtText text;
  CtErr err;
  ct_text_init(&text, ct_alloc_std);
  ct_ir_print(ir, &text);
  must(ct_emit_cuda(ir, &opts, &text, &err) == CT_OK && ct_text_status(&text, &err) == CT_OK);
  ct_text_clear(&text);
}

static void run(const CtIr *ir) {
  static CtSimtEngine *engine;
  static float x[N];
  static int32_t y[N];
  const CtSlotValue slots[] = {{.ptr = x}, {.ptr = y}, {.i = -3}};
  const int64_t n_elems[] = {N, N, 0};
  const CtSimtLaunch launch = {.grid = {2, 1, 1}, .slots = slots, .n_elems = n_elems};
  CtSimtProgram *program = NULL;
  CtErr err;
  must(engine != NULL || ct_simt_open(ct_alloc_std, 1, NULL, &engine, &err) == CT_OK);
  for (int i = 0; i < N; i++) {
    x[i] = (float)i * 0.5f;
    y[i] = i * 77 - 100;
  }
  must(ct_simt_lower(ct_alloc_std, ir, &program, &err) == CT_OK);
  must(ct_simt_run(engine, program, &launch, &err) == CT_OK || err.msg[0] != '\0');
  ct_simt_free(program);
}

const unsigned random_inputs = 6000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Bytes in = {data, n, 0};
  const int64_t block[3] = {once_in(&in, 2) ? 32 : 64, 1, 1};
  CtIr ir;
  CtErr err;
  ct_ir_init(&ir, ct_alloc_std, (CtTarget){.shared_max = 48 * 1024, .name = "calls"}, block);
  Build b = {.in = &in, .ir = &ir, .depth = DEPTH};
  build(&b);
  if (ct_ir_finish(&ir, &err) == CT_OK) {
    write_texts(&ir);
    run(&ir);
  } else {
    must(err.msg[0] != '\0' && strchr(err.msg, '\n') == NULL &&
         strstr(err.msg, "internal") == NULL);
  }
  ct_ir_clear(&ir);
  return 0;
}
