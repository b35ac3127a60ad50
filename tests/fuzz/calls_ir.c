/* calls_ir.c: files of IRs, changed by their structure. A kernel is built, some fields of it are changed, each by the
   row that the file format has for it, and its bytes are read. What is accepted is a kernel as the builder makes
   them: it is printed, emitted, lowered and run, and nothing of that fails but with a message.
   IR_SEEDS names a folder of further files (CUTTLE_IR_FILES of tests/support/ir_file.c writes such). */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "bytes.h"
#include "tests/c/emit_kernels.h"
#include "runtime/ct.h"
#include "runtime/ir/ir_file_rows.h"
#include "runtime/ir/ir_tma.h"

enum { N = 1 << 16, MOST_PLACES = 1 << 16, MOST_SEEDS = 2048, MOST_BYTES = 60000 };

static void must(bool ok) {
  if (!ok) {
    abort();
  }
}

/* {====== Kernels ====== */

static void build_words(Kit *k, int sm) {
  static const char *const names[] = {"SM80_16x8x16_F32F16F16F32_TN"};
  CtIr *ir = &k->ir;
  kit_begin(k, "words", sm, 64, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f32, "(?)", "(1)"), y = tensor(k, "y", CT_i32, "(256)", "(1)");
  CtVal t = tid(k, 0), n = number(k, "n", CT_i32, 0, 100);
  CtAtom atom;
  must(ct_atom_find(names[0], &atom));
  CtView a = ct_ir_fragment(ir, "a", CT_f16, lay(k, "8")),
         b = ct_ir_fragment(ir, "b", CT_f16, lay(k, "4")),
         c = ct_ir_fragment(ir, "c", CT_f32, lay(k, "4"));
  CtView s = ct_ir_shared(ir, "s", CT_f32, lay(k, "(64,4)"));
  at(k, 2);
  kit_must(k, ct_ir_fill(ir, a, ct_ir_const_float(ir, CT_f16, 1), &k->err));
  kit_must(k, ct_ir_fill(ir, b, ct_ir_const_float(ir, CT_f16, 2), &k->err));
  kit_must(k, ct_ir_fill(ir, c, f32(k, 0), &k->err));
  kit_must(k, ct_ir_mma(ir, &atom, a, b, c, &(CtMmaOpts){.accumulate = 0}, &k->err));
  at(k, 3);
  CtVal sum = ct_ir_shfl(ir, CT_SHFL_DOWN, ct_ir_load(ir, c.buf, num(k, 0)), num(k, 1), 32);
  ct_ir_store(ir, s.buf, t, sum);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  CtVal all = ct_ir_vote(ir, CT_VOTE_ALL, lt(k, t, n));
  CtVal count = ct_ir_masked(ir, CT_MASKED_BALLOT, lt(k, n, t), 0, 0, 32);
  at(k, 4);
  const CtVal vals[] = {t, ct_ir_cast(ir, sum, CT_f64), all};
  CtVal when = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_EQ, t, num(k, 0)));
  ct_ir_printf(ir, "%d: %8.2f %s\n", 3, vals);
  ct_ir_end(ir, when);
  ct_ir_assert(ir, lt(k, n, num(k, 101)), "n is small");
  at(k, 5);
  (void)ct_ir_atomic(ir, CT_OP_ATOMIC_ADD, y.buf, t, ct_ir_cast(ir, count, CT_i32), 0);
  uint32_t bars = ct_ir_mbarrier(ir, 2, 64);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  (void)ct_ir_mbar(ir, CT_OP_MBAR_ARRIVE, bars, num(k, 0), 0);
  (void)ct_ir_mbar(ir, CT_OP_MBAR_WAIT, bars, num(k, 0), num(k, 0));
  CtView words;
  kit_must(k, ct_ir_recast(ir, s, CT_u32, &words, &k->err));
  CtVal loop = ct_ir_for(ir, num(k, 0), n, num(k, 1), 0, "i");
  ct_ir_store(ir, x.buf, t, ct_ir_cast(ir, ct_ir_load(ir, words.buf, loop), CT_f32));
  ct_ir_end(ir, loop);
}

/* Memory by other ways: a box of TMA, a hint for caches, another block's, constants. */
static void build_places(Kit *k, int sm) {
  static const int32_t numbers[4] = {3, 1, 2, 0};
  CtIr *ir = &k->ir;
  kit_begin(k, "places", sm, 64, 1);
  ir->cluster[0] = 2;
  at(k, 1);
  CtView x = tensor(k, "x", CT_f16, "(64,?)", "(64,1)"), y = tensor(k, "y", CT_f32, "(?)", "(1)"),
         z;
  CtView s = ct_ir_shared(ir, "s", CT_f16, lay(k, "(8,32):(32,1)"));
  CtView words = ct_ir_constant(ir, CT_i32, lay(k, "4"), numbers);
  uint32_t bar = ct_ir_mbarrier(ir, 1, 1);
  kit_must(k, ct_ir_cached(ir, y, CT_CACHE_STREAMING, &z, &k->err));
  at(k, 2);
  CtTmaCall box = {.op = "tma_load",
                   .source = ct_ir_tma_source(ir, &(CtTmaSource){x, -1}),
                   .coords = lay(k, "(8,32):(1@0,1@1)"),
                   .at = crd2(k, ct_int(8), dyn(k, mul(k, bid(k, 0), num(k, 8)))),
                   .name = "box",
                   .shared = s,
                   .bar = bar,
                   .slot = num(k, 0)};
  CtVal first = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_EQ, tid(k, 0), num(k, 0)));
  (void)ct_ir_mbar(ir, CT_OP_MBAR_ARRIVE_EXPECT, bar, num(k, 0), num(k, 512));
  kit_must(k, ct_ir_tma_load(ir, &box, &k->err));
  ct_ir_end(ir, first);
  (void)ct_ir_mbar(ir, CT_OP_MBAR_WAIT, bar, num(k, 0), num(k, 0));
  at(k, 3);
  ct_ir_effect(ir, CT_OP_CLUSTER_ARRIVE, 0);
  ct_ir_effect(ir, CT_OP_CLUSTER_WAIT, 0);
  CtView other = ct_ir_remote(ir, s, num(k, 1));
  CtVal sum = ct_ir_cast(ir, ct_ir_load(ir, other.buf, tid(k, 0)), CT_f32);
  CtVal place = op2(k, CT_OP_FLOORMOD, tid(k, 0), num(k, 4));
  sum = add(k, sum, ct_ir_cast(ir, ct_ir_load(ir, words.buf, place), CT_f32));
  ct_ir_store(ir, z.buf, tid(k, 0), sum);
  box.op = "tma_store";
  kit_must(k, ct_ir_tma_store(ir, &box, &k->err));
}

static void build_order(Kit *k, int sm) { build_sgemm(k, sm, "n2 ~m ~n"); }

static void (*const kernels[])(Kit *k, int sm) = {
    build_words,     build_places, build_moye_matmul, build_notebook, build_saxpy,
    build_transpose, build_order,  build_integers,    build_floats,   build_control,
    build_tiles,     build_escape, build_names};

/* {====== Seeds ====== */

static CtText seeds[MOST_SEEDS];
static unsigned n_seeds;

static void add_kernel(void (*build)(Kit *k, int sm)) {
  Kit k;
  build(&k, 90);
  CtText *out = &seeds[n_seeds++];
  ct_text_init(out, ct_alloc_std);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  must(ct_ir_write(&k.ir, out, &k.err) == CT_OK);
  ct_ir_clear(&k.ir);
}

static void add_file(const char *folder, const char *name) {
  static char bytes[MOST_BYTES];
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = name[0] == '.' || n_seeds == MOST_SEEDS ? NULL : fopen(path, "rb");
  size_t n = f == NULL ? 0 : fread(bytes, 1, sizeof bytes, f);
  if (f != NULL) {
    fclose(f);
  }
  if (n > 0 && n < sizeof bytes) {
    ct_text_init(&seeds[n_seeds], ct_alloc_std);
    ct_text_add(&seeds[n_seeds++], bytes, n);
  }
}

static void read_seeds(void) {
  const char *folder = getenv("IR_SEEDS");
  DIR *d = folder == NULL ? NULL : opendir(folder);
  for (size_t i = 0; i < CT_ARRAY_LEN(kernels); i++) {
    add_kernel(kernels[i]);
  }
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    add_file(folder, e->d_name);
  }
  if (d != NULL) {
    closedir(d);
  }
}

/* {====== Changes ====== */

/* A field of the IR, and the struct that it is in. */
typedef struct Place {
  void *at;
  const CtField *field;
  void *base;
  const CtShape *shape;
} Place;

typedef struct Mutant {
  Bytes *in;
  CtIr ir;
  uint64_t limits[CT_LIMIT_COUNT];
  size_t n;
} Mutant;

static Place places[MOST_PLACES];

static void find_places(Mutant *m, const CtShape *shape, void *base);

static void *pointer_at(const void *at) {
  void *p;
  memcpy(&p, at, sizeof p);
  return p;
}

/* Another field says how many this one has, or it is how many others are: files are as long as they say. */
static bool is_count(const CtShape *shape, const CtField *f) {
  for (int i = 0; i < shape->n; i++) {
    const CtField *other = &shape->fields[i];
    if (other->n_size > 0 && other->n_size != CT_COUNT_COLUMNS && other->n_at == f->at) {
      return true;
    }
  }
  return shape == &ct_shape_head && f->name[0] == 'n' && f->name[1] == '_';
}

static void find_element(Mutant *m, const CtShape *shape, const CtField *f, void *base, char *at) {
  CtInst *inst = base;
  const CtShape *data;
  switch ((CtFieldKind)f->kind) {
    case CT_FIELD_PART: find_places(m, f->of, at); return;
    case CT_FIELD_ARRAY:
    case CT_FIELD_TABLE:
      for (uint64_t i = f->first; pointer_at(at) != NULL && i < ct_field_count(f, base); i++) {
        find_places(m, f->of, (char *)pointer_at(at) + i * f->of->size);
      }
      return;
    case CT_FIELD_DATA:
      data = ct_shape_of_op((CtOp)inst->op);
      if (data != NULL) {
        find_places(m, data, pointer_at(&inst->u));
        return;
      }
      break;
    case CT_FIELD_BYTES:
    case CT_FIELD_MEMBERS:
    case CT_FIELD_KIND_COUNT: return;
    default: break;
  }
  if (m->n < MOST_PLACES && !is_count(shape, f)) {
    places[m->n++] = (Place){at, f, base, shape};
  }
}

static void find_places(Mutant *m, const CtShape *shape, void *base) {
  for (int i = 0; i < shape->n; i++) {
    const CtField *f = &shape->fields[i];
    for (int j = 0; j < ct_field_times(f, base); j++) {
      find_element(m, shape, f, base, (char *)base + f->at + (size_t)j * f->size);
    }
  }
}

static unsigned wide_below(Bytes *in, uint64_t n) {
  unsigned v = next_byte(in) << 8;
  return n == 0 ? 0 : (unsigned)((v | next_byte(in)) % n);
}

static void change_int(Mutant *m, CtInt *i) {
  switch (below(m->in, 4)) {
    case 0:
      *i = (CtInt){.kind = CT_DYNAMIC, .id = wide_below(m->in, m->limits[CT_LIMIT_VALUES])};
      break;
    case 1:
      i->v = i->kind == CT_STATIC ? (int64_t)((uint64_t)i->v + below(m->in, 5) - 2) : i->v;
      break;
    default: *i = ct_int(next_integer(m->in)); break;
  }
}

static void change_tuple(Mutant *m, const Place *p) {
  CtTuple old = pointer_at(p->at);
  CtNode *own = old == NULL ? NULL : ct_arena_alloc(&m->ir.arena, old->len * sizeof *own);
  if (own != NULL) {
    memcpy(own, old, old->len * sizeof *own);
    CtNode *node = &own[wide_below(m->in, old->len)];
    if (node->rank == CT_LEAF) {
      change_int(m, &node->i);
    }
    memcpy(p->at, &own, sizeof own);
  }
}

static void change_number(Mutant *m, const Place *p) {
  uint64_t limit = m->limits[p->field->limit], old = ct_field_uint(p->at, p->field->size);
  uint64_t v = once_in(m->in, 4) ? old + below(m->in, 5) - 2 : (uint64_t)next_integer(m->in);
  v = limit < UINT32_MAX && once_in(m->in, 2) ? wide_below(m->in, limit) : v;
  v = limit == UINT64_MAX || limit == 0 ? v : v % limit;
  memcpy(p->at, &v, p->field->size); /* little-endian, as the machines of the fuzzer are */
}

static void change_facts(Mutant *m, CtFacts *f) {
  f->lo = next_integer(m->in);
  f->hi = ct_max(f->lo, next_integer(m->in));
  f->div = (int64_t)below(m->in, 70);
}

static const CtAtom *other_atom(Mutant *m) {
  CtAtom *own = ct_arena_alloc(&m->ir.arena, sizeof *own);
  must(own != NULL);
  ct_atom_get((int)wide_below(m->in, (uint64_t)ct_atom_count()), own);
  return own;
}

static void change(Mutant *m, const Place *p) {
  static const char *const texts[] = {"%s", "%n",   "%lld %d", "%99.99f", "\"",
                                      "*/", "a\nb", "",        "$x"};
  const void *to;
  CtInst *inst = p->base;
  switch ((CtFieldKind)p->field->kind) {
    case CT_FIELD_UINT:
    case CT_FIELD_INT: change_number(m, p); return;
    case CT_FIELD_BOOL: *(bool *)p->at = !*(bool *)p->at; return;
    case CT_FIELD_IMM: inst->imm.i = next_integer(m->in); return;
    case CT_FIELD_FACTS: change_facts(m, p->at); return;
    case CT_FIELD_INTEGER: change_int(m, p->at); return;
    case CT_FIELD_TUPLE: change_tuple(m, p); return;
    case CT_FIELD_DATA:
      inst->u.regions[below(m->in, 2)] = wide_below(m->in, m->limits[CT_LIMIT_REGIONS]);
      return;
    case CT_FIELD_TEXT: to = once_in(m->in, 6) ? NULL : PICK(m->in, texts); break;
    case CT_FIELD_ATOM: to = once_in(m->in, 6) ? NULL : other_atom(m); break;
    default: return;
  }
  memcpy(p->at, &to, sizeof to);
}

/* An operation of the same form, so that its data stay what they are. */
static bool keeps_data(const CtInst *inst, uint16_t op) {
  return ct_ops[op].cls == ct_ops[inst->op].cls && ct_ops[op].n_args == ct_ops[inst->op].n_args &&
         ct_shape_of_op((CtOp)op) == ct_shape_of_op((CtOp)inst->op);
}

static void change_place(Mutant *m, const Place *p) {
  CtInst *inst = p->base;
  bool is_op = p->field->limit == CT_LIMIT_OPS;
  uint16_t before = is_op ? inst->op : 0;
  change(m, p);
  if (is_op) {
    uint16_t op = inst->op;
    inst->op = before;
    inst->op = keeps_data(inst, op) ? op : before;
  }
}

/* The writer takes the elements of constants by number and type. */
static void keep_constants(CtIr *ir) {
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    CtBuf *b = &ir->bufs[i];
    bool fits = b->n_elems.kind == CT_STATIC && b->n_elems.v >= 0 && b->n_elems.v <= N;
    if (b->data != NULL) {
      b->n_elems = fits ? b->n_elems : ct_int(4);
      b->data = ct_arena_alloc(&ir->arena, (size_t)b->n_elems.v * sizeof(double) + 1);
      must(b->data != NULL);
    }
  }
}

/* {====== What is accepted ====== */

static volatile int is_late;
static void on_alarm(int signal_number) {
  (void)signal_number;
  is_late = 1;
}

static void set_alarm(long us) {
  const struct itimerval timer = {.it_value = {.tv_usec = us}};
  is_late = 0;
  signal(SIGALRM, on_alarm);
  must(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* What an interrupt ends says nothing. */
static void must_be_line(CtStatus status, const CtErr *err) {
  must(status == CT_OK || is_late || err->msg[0] != '\0');
}

static void write_texts(Mutant *m, const CtIr *ir) {
  const CtEmitOpts opts = {.line_directives = once_in(m->in, 2),
                           .is_every_line = once_in(m->in, 2),
                           .print_records = once_in(m->in, 2)};
  CtText text;
  CtErr err = {.msg = ""};
  ct_text_init(&text, ct_alloc_std);
  ct_ir_print(ir, &text);
  must_be_line(ct_emit_cuda(ir, &opts, &text, &err), &err);
  ct_text_clear(&text);
}

static void print(void *ud, const char *text, size_t n) {
  (void)ud;
  (void)text;
  (void)n;
}

/* Memory of N elements for each tensor; extents and numbers are small. */
static void give(Mutant *m, const CtIr *ir, CtSlotValue *slots, int64_t *n_elems, void **memory) {
  for (size_t i = 0; i < ir->n_slots; i++) {
    slots[i].i = 1 + below(m->in, 8);
  }
  for (size_t i = 0; i < ir->n_params; i++) {
    const CtParam *p = &ir->params[i];
    if (p->is_tensor) {
      size_t bytes = (size_t)N * ct_value_bytes(p->dtype);
      memory[i] = malloc(bytes);
      must(memory[i] != NULL);
      memset(memory[i], 1, bytes);
      slots[p->first_slot].ptr = memory[i];
      n_elems[i] = N;
    }
  }
}

static bool can_run(const CtIr *ir) { /* tables of lists hold addresses */
  bool can = !ir->has_addresses;
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    can = can && ir->bufs[i].members == NULL;
  }
  return can;
}

static void run(Mutant *m, const CtIr *ir, const CtSimtProgram *program) {
  static CtSimtEngine *engine;
  CtErr err = {.msg = ""};
  CtSlotValue *slots = calloc(ir->n_slots + 1, sizeof *slots);
  int64_t *n_elems = calloc(ir->n_params + 1, sizeof *n_elems);
  void **memory = calloc(ir->n_params + 1, sizeof *memory);
  must(slots != NULL && n_elems != NULL && memory != NULL);
  must(engine != NULL || ct_simt_open(ct_alloc_std, 1, NULL, &engine, &err) == CT_OK);
  give(m, ir, slots, n_elems, memory);
  const CtSimtLaunch launch = {.grid = {2 * ir->cluster[0], ir->cluster[1], ir->cluster[2]},
                               .slots = slots,
                               .n_elems = n_elems,
                               .interrupt = &is_late,
                               .print = print};
  must_be_line(ct_simt_run(engine, program, &launch, &err), &err);
  for (size_t i = 0; i < ir->n_params; i++) {
    free(memory[i]);
  }
  free((void *)memory);
  free(n_elems);
  free(slots);
}

static void use(Mutant *m, const CtIr *ir) {
  CtSimtProgram *program = NULL;
  CtErr err = {.msg = ""};
  write_texts(m, ir);
  CtStatus status = ct_simt_lower(ct_alloc_std, ir, &program, &err);
  must_be_line(status, &err);
  if (status == CT_OK && can_run(ir)) {
    set_alarm(200000);
    run(m, ir, program);
    set_alarm(0);
  }
  ct_simt_free(program);
}

const unsigned random_inputs = 2000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Bytes in = {data, n, 0};
  CtErr err = {.msg = ""};
  CtText bytes;
  CtIr again;
  Mutant m = {.in = &in};
  if (n_seeds == 0) {
    read_seeds();
  }
  const CtText *seed = &seeds[wide_below(&in, n_seeds)];
  if (ct_ir_read(ct_alloc_std, seed->s, seed->len, &m.ir, &err) != CT_OK) {
    return 0; /* a file of another version */
  }
  m.ir.dyn.ud = &m.ir;
  ct_ir_file_limits(&m.ir, m.limits);
  find_places(&m, &ct_shape_head, &m.ir);
  find_places(&m, &ct_shape_body, &m.ir);
  for (unsigned left = 1 + below(&in, 3); left > 0; left--) {
    change_place(&m, &places[wide_below(&in, m.n)]);
  }
  keep_constants(&m.ir);
  ct_text_init(&bytes, ct_alloc_std);
  must(ct_ir_write(&m.ir, &bytes, &err) == CT_OK);
  if (ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &again, &err) == CT_OK) {
    use(&m, &again);
    ct_ir_read_clear(&again);
  } else {
    must(err.msg[0] != '\0'); /* a name in it may have any characters */
  }
  ct_text_clear(&bytes);
  ct_ir_read_clear(&m.ir);
  return 0;
}
