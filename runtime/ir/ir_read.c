/* ir_read.c: bytes as an IR. The first failure is kept, and reading then gives zeros, so that callers ask once.
   No number is believed: each is held against its row's limit, and no count asks for more elements than there
   are bytes left. What the numbers mean together is for ir_trust.c. */
#include <string.h>

#include "ir_file_rows.h"
#include "pass.h"
#include "runtime/base/message.h"
#include "runtime/base/size.h"

enum { DEEPEST = 1000 /* of structs in structs */ };

typedef struct Reader {
  CtIr *ir; /* that is read now: the kernel's, or a function's */
  const uint8_t *begin, *at, *end;
  uint64_t limits[CT_LIMIT_COUNT];
  CtAlloc alloc;
  CtArena *arena;     /* of texts: the kernel's IR's, which outlives those of its functions */
  CtArena *own;       /* of all else: that of the IR that is read now */
  const char **texts; /* that were read */
  size_t n_texts, cap_texts;
  const char *shape, *field; /* that is read, for messages */
  bool disarms;              /* what texts do to a terminal */
  int depth;
  CtStatus status;
  CtErr *err;
} Reader;

static void get_shape(Reader *r, const CtShape *shape, void *base);

/* --- failures ----------------------------------------------------------------------------------- */

static void fail(Reader *r, const char *what) {
  if (r->status == CT_OK) {
    r->status = ct_fail(r->err, CT_EINVAL, "ir_read: at byte %zu, %s.%s: %s",
                        (size_t)(r->at - r->begin), r->shape, r->field, what);
  }
  r->at = r->end;
}

static void fail_nomem(Reader *r) {
  if (r->status == CT_OK) {
    r->status = ct_fail_nomem(r->err);
  }
  r->at = r->end;
}

static void *allocate(Reader *r, size_t bytes) {
  void *p = ct_arena_alloc(r->own, bytes);
  if (p == NULL) {
    fail_nomem(r);
  }
  return p;
}

/* --- numbers and texts -------------------------------------------------------------------------- */

static uint64_t get_number(Reader *r) {
  uint64_t v = 0;
  for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
    uint8_t byte = *r->at++;
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      return v;
    }
  }
  fail(r, "the bytes end within a number");
  return 0;
}

static int64_t get_signed(Reader *r) {
  uint64_t v = get_number(r);
  return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static uint64_t get_below(Reader *r, uint64_t limit) {
  uint64_t v = get_number(r);
  if (v >= limit && limit != UINT64_MAX) {
    fail(r, "a number beyond its limit");
    return 0;
  }
  return v;
}

/* A count of things that take a byte each, at the least. */
static size_t get_count(Reader *r) { return (size_t)get_below(r, (uint64_t)(r->end - r->at) + 1); }

static uint64_t get_fixed(Reader *r, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < bytes; i++) {
    v |= (uint64_t)*r->at++ << (8 * i);
  }
  return v;
}

static const char *get_new_string(Reader *r) {
  size_t n = get_count(r);
  if ((size_t)(r->end - r->at) < n || memchr(r->at, '\0', n) != NULL) {
    fail(r, "a text that does not fit, or with a NUL");
    return NULL;
  }
  char *s = ct_arena_strdup(r->arena, (const char *)r->at, n);
  r->at += n;
  if (s != NULL && r->disarms) {
    ct_text_disarm(s);
  }
  if (s == NULL || CT_GROW(r->alloc, r->texts, r->cap_texts, r->n_texts + 1, NULL) != CT_OK) {
    fail_nomem(r);
    return NULL;
  }
  return r->texts[r->n_texts++] = s;
}

static const char *get_string(Reader *r) {
  uint64_t i = get_below(r, r->n_texts + 2);
  return i == 0 ? NULL : i <= r->n_texts ? r->texts[i - 1] : get_new_string(r);
}

/* --- integers of the algebra -------------------------------------------------------------------- */

/* `tag` as put_integer_as writes it. */
static CtInt get_integer_of(Reader *r, uint64_t tag, uint64_t limit) {
  CtInt i = {.kind = tag & 3, .basis_depth = tag >> 2 & 7};
  if (i.kind > CT_ANY || i.basis_depth > CT_BASIS_MAX || r->end - r->at < i.basis_depth) {
    fail(r, "no integer of a layout");
    return ct_int(0);
  }
  memcpy(i.basis, r->at, i.basis_depth);
  r->at += i.basis_depth;
  if (i.kind == CT_STATIC) {
    i.v = get_signed(r);
  } else if (i.kind == CT_DYNAMIC) {
    i.id = (uint32_t)get_below(r, limit);
  }
  return i;
}

static CtInt get_integer(Reader *r, uint64_t limit) {
  uint64_t tag = get_number(r);
  if (tag >> 5 != 0) {
    fail(r, "no integer of a layout");
  }
  return get_integer_of(r, tag, limit);
}

/* The nodes of one subtree, from *at on. */
static void get_node(Reader *r, CtNode *nodes, uint32_t len, uint32_t *at, int depth,
                     uint64_t limit) {
  if (*at >= len || depth > CT_MAX_DEPTH) {
    fail(r, "a tuple whose nodes are not as many as it states");
    return;
  }
  uint32_t self = (*at)++;
  uint64_t tag = get_number(r);
  bool is_tuple = tag >> 5 & 1, is_named = tag >> 6 & 1;
  uint64_t rank = tag >> 7;
  if (is_tuple ? rank >= len || (tag & 31) != 0 : rank != 0) {
    fail(r, "a tuple whose nodes are not as many as it states");
    return;
  }
  nodes[self].rank = is_tuple ? (int32_t)rank : CT_LEAF;
  nodes[self].i = is_tuple ? ct_int(0) : get_integer_of(r, tag & 31, limit);
  nodes[self].name = is_named ? get_number(r) : 0;
  for (uint64_t i = 0; i < rank && r->status == CT_OK; i++) {
    get_node(r, nodes, len, at, depth + 1, limit);
  }
  nodes[self].len = *at - self;
}

static CtTuple get_nodes(Reader *r, uint64_t limit) {
  size_t n = get_count(r);
  if (n == 0 || n > CT_MAX_NODES) {
    fail(r, "a tuple with too many nodes, or without any");
    return NULL;
  }
  CtNode *nodes = allocate(r, ct_size_mul(n, sizeof *nodes));
  uint32_t at = 0;
  if (nodes != NULL) {
    get_node(r, nodes, (uint32_t)n, &at, 0, limit);
  }
  if (at != n) {
    fail(r, "a tuple whose nodes are not as many as it states");
  }
  return nodes;
}

/* --- fields ------------------------------------------------------------------------------------- */

static void put_uint(void *at, size_t size, uint64_t v) {
  const uint32_t v4 = (uint32_t)v;
  const uint16_t v2 = (uint16_t)v;
  const uint8_t v1 = (uint8_t)v;
  switch (size) {
    case 8: memcpy(at, &v, size); break;
    case 4: memcpy(at, &v4, size); break;
    case 2: memcpy(at, &v2, size); break;
    default: memcpy(at, &v1, 1); break;
  }
}

static void get_uint(Reader *r, const CtField *f, void *at) {
  uint64_t v = get_below(r, r->limits[f->limit]);
  if (f->size < 8 && v >> (8 * f->size) != 0) {
    fail(r, "a number beyond its limit");
    v = 0;
  }
  put_uint(at, f->size, v);
}

static void get_int(Reader *r, const CtField *f, void *at) {
  int64_t v = get_signed(r), edge = f->size < 8 ? (int64_t)1 << (8 * f->size - 1) : 0;
  if (f->size < 8 && (v < -edge || v >= edge)) {
    fail(r, "a number beyond its limit");
    v = 0;
  }
  put_uint(at, f->size, (uint64_t)v);
}

static void get_imm(Reader *r, CtInst *inst) {
  if (inst->op != CT_OP_CONST || !ct_is_float((CtDtype)inst->type)) {
    inst->imm.i = get_signed(r);
    return;
  }
  uint64_t back = get_number(r), bits = 0;
  for (int i = 0; i < 8; i++) {
    bits = bits << 8 | (back >> (8 * i) & 0xff);
  }
  memcpy(&inst->imm, &bits, sizeof bits);
}

static void get_data(Reader *r, CtInst *inst) {
  const CtShape *shape = ct_shape_of_op((CtOp)inst->op);
  if (shape != NULL) {
    void *data = allocate(r, shape->size);
    inst->u.tile = data; /* a pointer, whatever it is to */
    if (data != NULL) {
      get_shape(r, shape, data);
    }
  } else if (ct_ops[inst->op].cls == CT_CLS_REGION) {
    inst->u.regions[0] = (CtRegion)get_below(r, r->limits[CT_LIMIT_REGIONS]);
    inst->u.regions[1] = (CtRegion)get_below(r, r->limits[CT_LIMIT_REGIONS]);
  } else {
    fail(r, "data of an operation that has no data");
  }
}

static void get_members(Reader *r, const CtRegionInfo *info) {
  CtRegion region = (CtRegion)(info - r->ir->regions);
  size_t n = get_count(r);
  int64_t v = 0;
  for (size_t i = 0; i < n && r->status == CT_OK; i++) {
    int64_t step = get_signed(r);
    if (ct_add_overflow(v, step, &v) || v < 1 || v >= (int64_t)r->ir->n_insts ||
        r->ir->insts[v].region != 0) {
      fail(r, "an operation that is missing, or occurs twice");
      return;
    }
    ct_ir_link(r->ir, (CtVal)v, region, 0);
  }
}

/* A pointer to so many structs. */
static void get_array(Reader *r, const CtField *f, const void *base, void *at) {
  uint64_t n = ct_field_count(f, base);
  if (n > (uint64_t)(r->end - r->at)) {
    fail(r, "more elements than bytes");
    return;
  }
  char *items = allocate(r, ct_size_mul((size_t)(n + 1), f->of->size));
  memcpy(at, &items, sizeof items);
  for (uint64_t i = 0; items != NULL && i < n && r->status == CT_OK; i++) {
    get_shape(r, f->of, items + i * f->of->size);
  }
}

static void get_table(Reader *r, const CtField *f, void *base, void *at) {
  uint64_t n = ct_field_count(f, base);
  char *items;
  size_t *cap = (size_t *)(void *)((char *)base + f->cap_at);
  if (n > (uint64_t)PTRDIFF_MAX ||
      ct_grow(r->alloc, at, cap, (size_t)n, f->of->size, NULL) != CT_OK) {
    fail_nomem(r);
    return;
  }
  memcpy(&items, at, sizeof items);
  if (n <= f->first) {
    return;
  }
  memset(items + f->first * f->of->size, 0, (size_t)(n - f->first) * f->of->size);
  for (uint64_t i = f->first; i < n && r->status == CT_OK; i++) {
    get_shape(r, f->of, items + i * f->of->size);
  }
}

static const CtAtom *get_atom(Reader *r) {
  const char *name = get_string(r);
  CtAtom *atom = allocate(r, sizeof *atom);
  if (atom != NULL && (name == NULL || !ct_atom_find(name, atom))) {
    fail(r, "an atom that this library does not have");
  }
  return atom;
}

static const void *get_elements(Reader *r, const CtBuf *b) {
  size_t bytes;
  if (b->n_elems.kind != CT_STATIC || b->n_elems.v < 0 ||
      !ct_dense_fits(b->dtype, b->n_elems.v, &bytes) || bytes > (size_t)(r->end - r->at)) {
    fail(r, "more elements than bytes");
    return NULL;
  }
  void *data = allocate(r, bytes + 1);
  if (data != NULL && bytes > 0) {
    memcpy(data, r->at, bytes);
    r->at += bytes;
  }
  return data;
}

static void set_pointer(void *at, const void *p) { memcpy(at, &p, sizeof p); }

static void get_element(Reader *r, const CtField *f, void *base, void *at) {
  switch ((CtFieldKind)f->kind) {
    case CT_FIELD_UINT: get_uint(r, f, at); break;
    case CT_FIELD_BOOL: *(bool *)at = get_below(r, 2) == 1; break;
    case CT_FIELD_INT: get_int(r, f, at); break;
    case CT_FIELD_IMM: get_imm(r, base); break;
    case CT_FIELD_FACTS:
      memset(at, 0, f->size);
      get_shape(r, f->of, at);
      break;
    case CT_FIELD_PART: get_shape(r, f->of, at); break;
    case CT_FIELD_TEXT: set_pointer(at, get_string(r)); break;
    case CT_FIELD_TUPLE: set_pointer(at, get_nodes(r, r->limits[f->limit])); break;
    case CT_FIELD_INTEGER: *(CtInt *)at = get_integer(r, r->limits[f->limit]); break;
    case CT_FIELD_ARRAY: get_array(r, f, base, at); break;
    case CT_FIELD_TABLE: get_table(r, f, base, at); break;
    case CT_FIELD_ATOM: set_pointer(at, get_atom(r)); break;
    case CT_FIELD_BYTES: set_pointer(at, get_elements(r, base)); break;
    case CT_FIELD_DATA: get_data(r, base); break;
    case CT_FIELD_MEMBERS: get_members(r, base); break;
    case CT_FIELD_KIND_COUNT: break;
  }
}

static void get_field(Reader *r, const CtShape *shape, const CtField *f, void *base) {
  char *at = (char *)base + f->at;
  for (int i = 0, n = ct_field_times(f, base); i < n && r->status == CT_OK; i++) {
    r->shape = shape->name;
    r->field = f->name == NULL ? "element" : f->name;
    get_element(r, f, base, at + (size_t)i * f->size);
  }
}

/* What an absent field holds, if not zeros. */
static void set_absent(Reader *r, const CtField *f, void *base) {
  CtInst *inst = base;
  if (f->kind == CT_FIELD_FACTS) {
    inst->facts = ct_type_facts((CtDtype)inst->type);
  } else if (f->kind == CT_FIELD_TABLE && ct_field_count(f, base) > f->first) {
    fail(r, "a table that is missing");
  }
}

static void get_shape(Reader *r, const CtShape *shape, void *base) {
  uint64_t mask = shape->n > 1 ? get_below(r, (uint64_t)1 << shape->n) : 1;
  if (r->depth++ > DEEPEST) {
    fail(r, "structs nest too deep");
  }
  for (int i = 0; i < shape->n && r->status == CT_OK; i++) {
    if (mask >> i & 1) {
      get_field(r, shape, &shape->fields[i], base);
    } else {
      set_absent(r, &shape->fields[i], base);
    }
  }
  r->depth--;
}

/* --- the whole ---------------------------------------------------------------------------------- */

static void check_counts(Reader *r, const CtIr *ir) {
  const size_t left = (size_t)(r->end - r->at);
  const size_t counts[] = {ir->n_insts - 1,  ir->n_regions - 1, ir->n_bufs - 1,
                           ir->n_chunks - 1, ir->n_params,      ir->n_slots,
                           ir->n_requires,   ir->n_maps,        ir->n_notes};
  for (size_t i = 0; i < CT_ARRAY_LEN(counts); i++) {
    if (counts[i] > left) { /* also where one of the first four is 0 */
      fail(r, "more elements than bytes, or no element where one is required");
    }
  }
  if (ir->n_regions < 2) {
    fail(r, "no body");
  }
}

/* Its maker has set `arena` and nothing else. */
static void get_ir(Reader *r, CtIr *ir) {
  static const int64_t block[3] = {0, 0, 0};
  ct_ir_init(ir, ir->arena.alloc, (CtTarget){.sm = 0}, block);
  if (ir->n_chunks == 0) { /* it is made last */
    fail_nomem(r);
    return;
  }
  memset(ir->cluster, 0, sizeof ir->cluster);
  ir->contract = false;
  r->ir = ir;
  r->own = &ir->arena;
  ct_ir_file_limits(ir, r->limits);
  get_shape(r, &ct_shape_head, ir);
  check_counts(r, ir);
  ct_ir_file_limits(ir, r->limits);
  if (r->status != CT_OK) { /* the counts are of nothing yet */
    ir->n_insts = ir->n_regions = ir->n_bufs = ir->n_chunks = 0;
    ir->n_params = ir->n_slots = ir->n_requires = ir->n_maps = ir->n_notes = 0;
    return;
  }
  get_shape(r, &ct_shape_body, ir);
  ir->cap_notes = ir->n_notes;
  for (size_t i = 1; r->status == CT_OK && i < ir->n_insts; i++) {
    ir->insts[i].n_args = ct_ops[ir->insts[i].op].n_args;
  }
}

static void get_function(Reader *r, CtIr *ir) {
  const char *key = get_string(r);
  bool is_noinline = get_below(r, 2) == 1;
  CtIrFunction *f = key == NULL ? NULL : ct_ir_function_new(r->alloc, key);
  if (f == NULL) {
    fail_nomem(r);
    return;
  }
  f->is_noinline = is_noinline;
  f->next = ir->functions;
  ir->functions = f;
  get_ir(r, &f->ir);
}

static void get_functions(Reader *r, CtIr *ir) {
  size_t n = get_count(r);
  for (size_t i = 0; i < n && r->status == CT_OK; i++) {
    get_function(r, ir);
  }
}

static void get_header(Reader *r) {
  size_t n = strlen(CT_IR_FILE_MAGIC);
  if (r->end - r->at < CT_IR_FILE_HEADER || memcmp(r->at, CT_IR_FILE_MAGIC, n) != 0) {
    r->status = ct_fail(r->err, CT_EINVAL, "ir_read: these bytes are not IR; expected %s and more",
                        CT_IR_FILE_MAGIC);
    return;
  }
  r->at += n;
  uint64_t version = get_fixed(r, 4), print = get_fixed(r, 8);
  if (version != CT_IR_FILE_VERSION) {
    r->status =
        ct_fail(r->err, CT_EUNSUPPORTED, "ir_read: file of IR version %u; this library reads %d",
                (unsigned)version, CT_IR_FILE_VERSION);
  } else if (print != ct_ir_file_fingerprint()) {
    r->status = ct_fail(
        r->err, CT_EUNSUPPORTED,
        "ir_read: file of IR version %u with operations %016llx; this library reads "
        "%016llx; write it anew with this library",
        (unsigned)version, (unsigned long long)print, (unsigned long long)ct_ir_file_fingerprint());
  }
}

static CtStatus check_ir(CtIr *ir, CtErr *err) {
  CtStatus status = ct_ir_trust(ir, err);
  status = status == CT_OK ? ct_ir_check(ir, err) : status;
  ir->dyn.ud = ir;
  status = status == CT_OK ? ct_ir_make_again(ir, err) : status;
  status = status == CT_OK ? ct_pass_dce(ir, err) : status;
  return status == CT_OK ? ct_pass_registers(ir, err) : status;
}

static CtStatus check_all(CtIr *ir, CtErr *err) {
  CtStatus status = check_ir(ir, err);
  for (CtIrFunction *f = ir->functions; f != NULL && status == CT_OK; f = f->next) {
    status = check_ir(&f->ir, err);
  }
  return status;
}

void ct_ir_read_clear(CtIr *ir) {
  ct_ir_functions_free(ir->arena.alloc, ir->functions);
  ct_ir_clear(ir);
}

static void disarm_formats(const CtIr *ir) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    if (ir->insts[v].op == CT_OP_PRINT) {
      ct_message_disarm((char *)(uintptr_t)ir->insts[v].u.escape->text);
    }
  }
}

static CtStatus read_ir(CtAlloc alloc, const void *bytes, size_t n, bool disarms, CtIr *ir,
                        CtErr *err) {
  Reader r = {.begin = bytes,
              .at = bytes,
              .alloc = alloc,
              .shape = "file",
              .field = "header",
              .disarms = disarms};
  CtIr made;
  memset(&made, 0, sizeof made);
  ct_arena_init(&made.arena, alloc);
  r.end = r.at + n;
  r.err = err;
  r.arena = &made.arena;
  get_header(&r);
  if (r.status == CT_OK) {
    get_ir(&r, &made);
    get_functions(&r, &made);
  }
  if (r.status == CT_OK && r.at != r.end) {
    fail(&r, "bytes after the end");
  }
  ct_free(alloc, (void *)r.texts, r.cap_texts * sizeof *r.texts);
  CtStatus status = r.status == CT_OK ? check_all(&made, err) : r.status;
  if (status != CT_OK) {
    ct_ir_read_clear(&made);
    return status;
  }
  if (disarms) {
    disarm_formats(&made);
  }
  *ir = made;
  ir->dyn.ud = ir;
  return CT_OK;
}

CtStatus ct_ir_read(CtAlloc alloc, const void *bytes, size_t n, CtIr *ir, CtErr *err) {
  return read_ir(alloc, bytes, n, false, ir, err);
}

CtStatus ct_ir_read_shown(CtAlloc alloc, const void *bytes, size_t n, CtIr *ir, CtErr *err) {
  return read_ir(alloc, bytes, n, true, ir, err);
}
