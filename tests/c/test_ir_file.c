/* test_ir_file.c: an IR as bytes: laws on kernels built by hand, what is refused and how, and memory that runs
   out. Traced kernels go through the same code in the program that tests/support/ir_file.c is linked to. */
#include "emit_kernels.h"
#include "runtime/emit/emit_cuda.h"
#include "runtime/ir/ir_file.h"
#include "runtime/ir/ir_tma.h"
#include "tap.h"

static void build_sgemm_columns(Kit *k, int sm) { build_sgemm(k, sm, "columns"); }

static void (*const builders[])(Kit *k, int sm) = {
    build_moye_matmul,   build_notebook, build_saxpy,  build_transpose,
    build_sgemm_columns, build_integers, build_floats, build_control,
    build_tiles,         build_escape,   build_names};

static CtText bytes_of(const CtIr *ir) {
  CtText bytes;
  CtErr err;
  ct_text_init(&bytes, ct_alloc_std);
  if (ct_ir_write(ir, &bytes, &err) != CT_OK) {
    printf("Bail out! %s\n", err.msg);
    exit(1);
  }
  return bytes;
}

static CtText text_of(const CtIr *ir) {
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  ct_ir_print(ir, &text);
  return text;
}

static CtText cuda_of(const CtIr *ir) {
  static const CtEmitOpts opts = {.line_directives = true};
  CtText text;
  CtErr err;
  ct_text_init(&text, ct_alloc_std);
  if (ct_emit_cuda(ir, &opts, &text, &err) != CT_OK) {
    ct_text_puts(&text, err.msg);
  }
  return text;
}

static bool is_same(CtText a, CtText b) {
  bool same = a.len == b.len && a.len > 0 && memcmp(a.s, b.s, a.len) == 0;
  ct_text_clear(&a);
  ct_text_clear(&b);
  return same;
}

static void test_laws(void (*build)(Kit *k, int sm)) {
  Kit k;
  CtIr again;
  CtErr err = {.msg = ""};
  build(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtText bytes = bytes_of(&k.ir);
  bool is_read = ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &again, &err) == CT_OK;
  OK(is_read, "%s is read: %s", k.ir.name, err.msg);
  if (is_read) {
    OK(is_same(bytes_of(&again), bytes), "%s: the same bytes", k.ir.name);
    OK(is_same(text_of(&again), text_of(&k.ir)), "%s: the same text", k.ir.name);
    OK(is_same(cuda_of(&again), cuda_of(&k.ir)), "%s: the same CUDA C", k.ir.name);
    ct_ir_read_clear(&again);
  }
  ct_ir_clear(&k.ir);
}

static CtText a_kernel(void) {
  Kit k;
  build_moye_matmul(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtText bytes = bytes_of(&k.ir);
  ct_ir_clear(&k.ir);
  return bytes;
}

static void refuses(const CtText *bytes, size_t n, const char *want) {
  CtIr ir;
  CtErr err = {.msg = ""};
  CtStatus status = ct_ir_read(ct_alloc_std, bytes->s, n, &ir, &err);
  OK(status != CT_OK && strstr(err.msg, want) != NULL, "refused: %s", err.msg);
}

static void test_refusals(void) {
  CtText bytes = a_kernel();
  refuses(&bytes, 0, "ir_read: these bytes are not IR");
  refuses(&bytes, bytes.len - 1, "ir_read: at byte");
  bytes.s[8] = 9;
  refuses(&bytes, bytes.len, "ir_read: file of IR version 9; this library reads 2");
  bytes.s[8] = CT_IR_FILE_VERSION;
  bytes.s[12] ^= 1;
  refuses(&bytes, bytes.len, "ir_read: file of IR version 2 with operations ");
  bytes.s[0] = 'X';
  refuses(&bytes, bytes.len, "ir_read: these bytes are not IR");
  ct_text_clear(&bytes);
}

/* No beginning of the bytes is an IR, and with a bit turned it is refused or another one, which is sound. */
/* --- what no script may say ---------------------------------------------------------------------- */

static void build_honest(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  CtAtom atom;
  CtView words;
  kit_begin(k, "honest", sm, 32, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f32, "(64)", "(1)");
  CtView s = ct_ir_shared(ir, "s", CT_f32, lay(k, "64"));
  CtView a = ct_ir_fragment(ir, "a", CT_f16, lay(k, "8")),
         b = ct_ir_fragment(ir, "b", CT_f16, lay(k, "4")),
         c = ct_ir_fragment(ir, "c", CT_f32, lay(k, "4"));
  at(k, 2);
  copy(k, x, s);
  kit_must(k, ct_ir_recast(ir, s, CT_u32, &words, &k->err));
  ct_ir_store(ir, x.buf, num(k, 3), ct_ir_cast(ir, ct_ir_load(ir, words.buf, num(k, 1)), CT_f32));
  at(k, 3);
  kit_must(k, ct_atom_find("SM80_16x8x16_F32F16F16F32_TN", &atom) ? CT_OK : CT_EINVAL);
  kit_must(k, ct_ir_mma(ir, &atom, a, b, c, &(CtMmaOpts){.accumulate = 0}, &k->err));
  kit_must(k, ct_ir_gemm(ir, c, c, ct_ir_fragment(ir, "d", CT_f32, lay(k, "(4,4)")),
                         &(CtGemmOrder){0}, &k->err));
  const CtVal vals[] = {tid(k, 0)};
  ct_ir_printf(ir, "%d\n", 1, vals);
}

static void build_box(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "box", sm, 32, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f16, "(64,64)", "(64,1)");
  CtTmaCall box = {.op = "tma_store",
                   .bar = ct_ir_mbarrier(ir, 1, 1),
                   .slot = num(k, 0),
                   .source = ct_ir_tma_source(ir, &(CtTmaSource){x, -1}),
                   .coords = lay(k, "(8,32):(1@0,1@1)"),
                   .at = crd2(k, ct_int(8), dyn(k, mul(k, bid(k, 0), num(k, 8)))),
                   .name = "box",
                   .shared = ct_ir_shared(ir, "s", CT_f16, lay(k, "(8,32):(32,1)"))};
  kit_must(k, ct_ir_tma_store(ir, &box, &k->err));
}

/* Assembly with two results, and a clock that is none. */
static void build_code(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "code", sm, 32, 1);
  at(k, 1);
  CtView y = tensor(k, "y", CT_u32, "(64)", "(1)");
  const CtTextOut outs[] = {{.name = "a", .type = CT_u32}, {.name = "b", .type = CT_u32}};
  (void)ct_ir_code(
      ir, CT_VOID,
      &(CtEscape){
          .text = "mov.u32 $a, 1; mov.u32 $b, 2;", .is_ptx = true, .n_outs = 2, .outs = outs});
  at(k, 2);
  CtVal clock = ct_ir_clock(ir);
  ct_ir_store(ir, y.buf, num(k, 0), ct_ir_cast(ir, clock, CT_u32));
}

static CtInst *find_op(CtIr *ir, CtOp op) {
  CtVal v = 1;
  while (ir->insts[v].op != op) {
    v++;
  }
  return &ir->insts[v];
}

static CtTile *tile_of(CtIr *ir, CtOp op) { return (CtTile *)(uintptr_t)find_op(ir, op)->u.tile; }
static CtEscape *message_of(CtIr *ir) {
  return (CtEscape *)(uintptr_t)find_op(ir, CT_OP_PRINT)->u.escape;
}

static void take_n(CtIr *ir) { message_of(ir)->text = "%lln"; }
static void take_star(CtIr *ir) { message_of(ir)->text = "%*d"; }
static void take_text(CtIr *ir) { message_of(ir)->text = "%s"; }
static void take_wide(CtIr *ir) { message_of(ir)->text = "%lld"; }
static void take_more(CtIr *ir) { message_of(ir)->text = "%d %d"; }
static void take_less(CtIr *ir) { message_of(ir)->text = "hi"; }
static void take_bytes(CtIr *ir) { ir->params[0].dtype = ir->slots[0].dtype = CT_u8; }
static void take_other_slot(CtIr *ir) {
  ir->slots[0].param = 0, ir->slots[0].kind = CT_SLOT_NUMBER;
}
static void take_elements(CtIr *ir, CtBuf *b, int64_t n) {
  b->n_elems = ct_int(n);
  b->layout.shape = ct_leaf(&ir->arena, ct_int(n));
}
static void take_registers(CtIr *ir) { take_elements(ir, &ir->bufs[4], 1 << 29); }
static void take_swizzle(CtIr *ir) { ir->bufs[2].swizzle = (CtSwizzle){0, 100, 0}; }
static void take_place_of_bits(CtIr *ir) { ir->bufs[2].swizzle = (CtSwizzle){0, -1, 0}; }
static void take_alias(CtIr *ir) {
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    ir->bufs[i].n_elems = ir->bufs[i].alias_of != 0 ? ct_int(1 << 28) : ir->bufs[i].n_elems;
  }
}
/* The tensor in global memory, with a hint, as another block of the cluster has it. */
static void take_remote(CtIr *ir) {
  CtBuf *alias = &ir->bufs[ir->n_bufs - 1];
  *alias = ir->bufs[1];
  alias->alias_of = 1;
  alias->cache = CT_CACHE_STREAMING;
  alias->remote = find_op(ir, CT_OP_STORE)->args[1];
}
static void take_size(CtIr *ir) { ir->bufs[2].n_elems = ct_int(1 << 30); }
static void take_shared(CtIr *ir) { take_elements(ir, &ir->bufs[2], 1 << 19); }
static void take_last_line(CtIr *ir) { find_op(ir, CT_OP_STORE)->loc.line = INT32_MAX; }
static CtTma *box_of(CtIr *ir) { return (CtTma *)(uintptr_t)find_op(ir, CT_OP_TMA_STORE)->u.tma; }
static void take_slot(CtIr *ir) { box_of(ir)->slot = box_of(ir)->offset; }
static void take_coordinate(CtIr *ir) { box_of(ir)->crd[2] = box_of(ir)->offset; }
static void take_halves(CtIr *ir) { find_op(ir, CT_OP_MUL)->op = CT_OP_SUB_F16X2; }
static void take_atom(CtIr *ir) {
  static CtAtom other;
  (void)ct_atom_find("SM75_U32x4_LDSM_N", &other);
  tile_of(ir, CT_OP_MMA)->atom = &other;
}
static void take_no_atom(CtIr *ir) { tile_of(ir, CT_OP_MMA)->atom = NULL; }
static void take_order(CtIr *ir) { tile_of(ir, CT_OP_GEMM)->order.loop[0].step = 0; }
static void take_columns(CtIr *ir) {
  CtTile *t = tile_of(ir, CT_OP_GEMM);
  t->order = (CtGemmOrder){2, {{.mode = 1, .step = 1}, {.mode = 1, .step = 1}}};
}
static void take_place(CtIr *ir) { tile_of(ir, CT_OP_COPY)->a.offset = ct_int(INT64_MIN); }
static void take_far(CtIr *ir) { tile_of(ir, CT_OP_COPY)->a.offset = ct_int(INT64_MAX / 16); }
static void take_source(CtIr *ir) {
  CtTile *t = tile_of(ir, CT_OP_COPY);
  t->a.layout = tile_of(ir, CT_OP_MMA)->dst.layout;
}

static CtEscape *code_of(CtIr *ir) {
  return (CtEscape *)(uintptr_t)find_op(ir, CT_OP_ESCAPE)->u.escape;
}
static void take_clock(CtIr *ir) { find_op(ir, CT_OP_CLOCK)->op = CT_OP_RESULT; }
static void take_first(CtIr *ir) {
  CtTextOut *outs = (CtTextOut *)(uintptr_t)code_of(ir)->outs;
  outs[1].val = outs[0].val;
}
static void take_second(CtIr *ir) { code_of(ir)->n_outs = 1; }

typedef struct Lie {
  const char *name;
  void (*change)(CtIr *ir);
  const char *want;
} Lie;
static const Lie lies[] = {
    {"%n", take_n, "a conversion that printf of kernels does not have"},
    {"a width that is an argument", take_star, "a conversion that printf of kernels does not have"},
    {"%s of a number", take_text, "of another type than its conversion accepts"},
    {"a wide conversion", take_wide, "of another type than its conversion accepts"},
    {"too few values", take_more, "asks for more values than there are"},
    {"too many values", take_less, "asks for fewer values than there are"},
    {"another element type", take_bytes, "with other elements"},
    {"an address that is a number", take_other_slot, "a value"},
    {"a fragment beyond all registers", take_registers, "more registers than a thread has"},
    {"a swizzle out of range", take_swizzle, "an invalid swizzle"},
    {"a swizzle of bits below the first", take_place_of_bits, "an invalid swizzle"},
    {"an alias beyond its memory", take_alias, "larger than the memory that it aliases"},
    {"a tensor in global memory of another block", take_remote,
     "remote memory that belongs to no other block"},
    {"more memory than its layout has", take_size, "whose size is not that of its layout"},
    {"a block with 2 MiB of shared memory", take_shared, "more shared memory than any block has"},
    {"the last line there is", take_last_line, "a line that no script has"},
    {"a product by an atom that copies", take_atom, "SM75_U32x4_LDSM_N copies"},
    {"a product by none", take_no_atom, "without an atom"},
    {"an order of no steps", take_order, "gemm: an order"},
    {"an order that leaves out rows", take_columns, "gemm: an order"},
    {"a tensor before all memory", take_place, "a tensor whose offset"},
    {"a tensor that ends behind all memory", take_far, "reaches beyond its memory"},
    {"a copy of other sizes", take_source, "have different sizes"},
};

static const Lie lies_of_boxes[] = {
    {"a store that somebody waits for", take_slot, "a store with options of loads"},
    {"pairs of halves in an i32", take_halves, "an operation on another type"},
    {"a third coordinate of two", take_coordinate, "coordinates are not those of its map"},
};

static const Lie lies_of_code[] = {
    {"a clock that is a result", take_clock, "a result of no text"},
    {"one result twice", take_first, "a text without its operands"},
    {"a result that its text does not have", take_second, "a result of no text"},
};

/* What scripts may not say, the same functions refuse in files. */
static void test_lies(void (*build)(Kit *k, int sm), const Lie *lie, size_t n) {
  for (size_t i = 0; i < n; i++) {
    Kit k;
    CtIr again;
    CtErr err = {.msg = "it is read"};
    build(&k, 90);
    kit_must(&k, ct_ir_finish(&k.ir, &k.err));
    lie[i].change(&k.ir);
    CtText bytes = bytes_of(&k.ir);
    bool is_read = ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &again, &err) == CT_OK;
    OK(!is_read && strstr(err.msg, lie[i].want) != NULL, "%s: %s", lie[i].name, err.msg);
    if (is_read) {
      ct_ir_read_clear(&again);
    }
    ct_text_clear(&bytes);
    ct_ir_clear(&k.ir);
  }
}

/* Whatever the file says of widths, of slots in use and of memory that is written, the builder and the passes find
   it themselves. */
static void test_findings(void) {
  Kit k;
  CtIr again;
  CtErr err = {.msg = ""};
  build_honest(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  const uint8_t vec = tile_of(&k.ir, CT_OP_COPY)->vec;
  tile_of(&k.ir, CT_OP_COPY)->vec = 16;
  k.ir.slots[0].used = false;
  k.ir.bufs[1].is_written = false;
  CtText bytes = bytes_of(&k.ir);
  bool is_read = ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &again, &err) == CT_OK;
  OK(is_read && tile_of(&again, CT_OP_COPY)->vec == vec && again.slots[0].used &&
         again.bufs[1].is_written,
     "what follows is found: %s", err.msg);
  if (is_read) {
    ct_ir_read_clear(&again);
  }
  ct_text_clear(&bytes);
  ct_ir_clear(&k.ir);
}

static void test_damage(void) {
  CtText bytes = a_kernel();
  CtIr ir;
  CtErr err;
  size_t n_read = 0, n_turned = 0;
  for (size_t n = 0; n < bytes.len; n++) {
    n_read += ct_ir_read(ct_alloc_std, bytes.s, n, &ir, &err) == CT_OK;
  }
  OK(n_read == 0, "none of %zu beginnings is read", bytes.len);
  for (size_t i = 20; i < bytes.len; i++) {
    bytes.s[i] ^= 4;
    if (ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &ir, &err) == CT_OK) {
      n_turned += ct_ir_check(&ir, &err) != CT_OK;
      ct_ir_read_clear(&ir);
    }
    bytes.s[i] ^= 4;
  }
  OK(n_turned == 0, "what is read with a bit turned is sound");
  ct_text_clear(&bytes);
}

/* --- memory -------------------------------------------------------------------------------------- */

typedef struct Heap {
  long left, bytes;
} Heap;

static void *heap_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Heap *h = ud;
  if (new_bytes > 0 && h->left-- <= 0) {
    return NULL;
  }
  h->bytes += (long)new_bytes - (long)(ptr == NULL ? 0 : old_bytes);
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

static void test_reading_without_memory(void) {
  CtText bytes = a_kernel();
  bool is_clean = true, is_done = false;
  long n = 0;
  for (; n < 100000 && is_clean && !is_done; n++) {
    Heap heap = {.left = n};
    CtIr ir;
    CtErr err;
    CtStatus status = ct_ir_read((CtAlloc){heap_alloc, &heap}, bytes.s, bytes.len, &ir, &err);
    is_done = status == CT_OK;
    if (is_done) {
      ct_ir_read_clear(&ir);
    }
    is_clean = (is_done || status == CT_ENOMEM) && heap.bytes == 0;
  }
  OK(is_clean && is_done && n > 5, "memory that fails at any of %ld requests of a reader", n - 1);
  ct_text_clear(&bytes);
}

static void test_writing_without_memory(void) {
  Kit k;
  bool is_clean = true, is_done = false;
  long n = 0;
  build_notebook(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  for (; n < 100000 && is_clean && !is_done; n++) {
    Heap heap = {.left = n};
    CtText text;
    CtErr err;
    ct_text_init(&text, (CtAlloc){heap_alloc, &heap});
    CtStatus status = ct_ir_write(&k.ir, &text, &err);
    ct_text_clear(&text);
    is_done = status == CT_OK;
    is_clean = (is_done || status == CT_ENOMEM) && heap.bytes == 0;
  }
  OK(is_clean && is_done && n > 5, "memory that fails at any of %ld requests of a writer", n - 1);
  ct_ir_clear(&k.ir);
}

int main(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(builders); i++) {
    test_laws(builders[i]);
  }
  test_refusals();
  test_lies(build_honest, lies, CT_ARRAY_LEN(lies));
  test_lies(build_box, lies_of_boxes, CT_ARRAY_LEN(lies_of_boxes));
  test_lies(build_code, lies_of_code, CT_ARRAY_LEN(lies_of_code));
  test_findings();
  test_damage();
  test_reading_without_memory();
  test_writing_without_memory();
  return done_testing();
}
