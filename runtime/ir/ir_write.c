/* ir_write.c: an IR as bytes. Numbers take seven bits a byte, the low ones first; a text stands where it
   is used first, and later its number does. */
#include <string.h>

#include "ir_file_rows.h"

typedef struct Writer {
  const CtIr *ir; /* that is written now: the kernel's, or a function's */
  CtText *out;
  CtAlloc alloc;
  const char **texts; /* that are written */
  size_t n_texts, cap_texts;
} Writer;

/* --- numbers and texts -------------------------------------------------------------------------- */

static void put_number(Writer *w, uint64_t v) {
  char bytes[10];
  size_t n = 0;
  for (; v > 0x7f; v >>= 7) {
    bytes[n++] = (char)(0x80 | (v & 0x7f));
  }
  bytes[n++] = (char)v;
  ct_text_add(w->out, bytes, n);
}

/* Near 0 on both sides means few bytes. */
static void put_signed(Writer *w, int64_t v) {
  put_number(w, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_fixed(Writer *w, uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    ct_text_putc(w->out, (char)(v >> (8 * i)));
  }
}

static int64_t get_signed(const void *at, size_t size) {
  uint64_t v = ct_field_uint(at, size);
  unsigned shift = (unsigned)(64 - 8 * size);
  return ct_arithmetic_shift((int64_t)(v << shift), shift);
}

/* 0: no text. */
static void put_string(Writer *w, const char *s) {
  size_t i = 0;
  while (s != NULL && i < w->n_texts && w->texts[i] != s && strcmp(w->texts[i], s) != 0) {
    i++;
  }
  put_number(w, s == NULL ? 0 : i + 1);
  if (s == NULL || i < w->n_texts) {
    return;
  }
  put_number(w, strlen(s));
  ct_text_puts(w->out, s);
  if (CT_GROW(w->alloc, w->texts, w->cap_texts, i + 1, NULL) == CT_OK) {
    w->texts[w->n_texts++] = s;
  } else {
    w->out->failed = true;
  }
}

/* --- integers of the algebra -------------------------------------------------------------------- */

/* Bits: kind (2), basis_depth (3); above them those that the caller adds. */
static void put_integer_as(Writer *w, CtInt i, uint64_t more) {
  put_number(w, more << 5 | (uint64_t)i.basis_depth << 2 | i.kind);
  ct_text_add(w->out, (const char *)i.basis, i.basis_depth);
  if (i.kind == CT_STATIC) {
    put_signed(w, i.v);
  } else if (i.kind == CT_DYNAMIC) {
    put_number(w, i.id);
  }
}

static void put_nodes(Writer *w, CtTuple t) {
  put_number(w, t->len);
  for (uint32_t i = 0; i < t->len; i++) {
    uint64_t is_named = t[i].name != 0;
    if (t[i].rank == CT_LEAF) {
      put_integer_as(w, t[i].i, is_named << 1);
    } else {
      put_number(w, (uint64_t)t[i].rank << 7 | is_named << 6 | 1 << 5);
    }
    if (is_named) {
      put_number(w, t[i].name);
    }
  }
}

/* --- fields ------------------------------------------------------------------------------------- */

static void put_shape(Writer *w, const CtShape *shape, const void *base);
static bool has_field(const CtField *f, const void *base);

static const void *field_pointer(const void *at) {
  void *p;
  memcpy(&p, at, sizeof p);
  return p;
}

static bool has_bytes(const void *at, size_t size) {
  const unsigned char *p = at;
  while (size > 0 && *p == 0) {
    p++;
    size--;
  }
  return size > 0;
}

static bool has_parts(const CtShape *shape, const void *base) {
  int i = 0;
  while (i < shape->n && !has_field(&shape->fields[i], base)) {
    i++;
  }
  return i < shape->n;
}

static bool has_integer(const CtInt *i) { return !ct_is_const(*i, 0); }

static bool has_facts(const CtInst *inst) {
  CtFacts f = inst->facts, usual = ct_type_facts((CtDtype)inst->type);
  return f.lo != usual.lo || f.hi != usual.hi || f.div != usual.div;
}

static bool has_data(const CtInst *inst) {
  return ct_shape_of_op((CtOp)inst->op) != NULL || ct_ops[inst->op].cls == CT_CLS_REGION;
}

static bool has_element(const CtField *f, const void *base, const void *at) {
  switch ((CtFieldKind)f->kind) {
    case CT_FIELD_PART: return has_parts(f->of, at);
    case CT_FIELD_INTEGER: return has_integer(at);
    case CT_FIELD_FACTS: return has_facts(base);
    case CT_FIELD_DATA: return has_data(base);
    case CT_FIELD_TABLE: return ct_field_count(f, base) > f->first;
    case CT_FIELD_UINT:
    case CT_FIELD_INT:
    case CT_FIELD_BOOL:
    case CT_FIELD_IMM:
    case CT_FIELD_TEXT:
    case CT_FIELD_TUPLE:
    case CT_FIELD_ARRAY:
    case CT_FIELD_ATOM:
    case CT_FIELD_BYTES:
    case CT_FIELD_MEMBERS:
    case CT_FIELD_KIND_COUNT: break;
  }
  return has_bytes(at, f->size);
}

static bool has_field(const CtField *f, const void *base) {
  const char *at = (const char *)base + f->at;
  int i = 0, n = ct_field_times(f, base);
  while (i < n && !has_element(f, base, at + (size_t)i * f->size)) {
    i++;
  }
  return i < n;
}

static void put_imm(Writer *w, const CtInst *inst) {
  uint64_t bits, back = 0;
  memcpy(&bits, &inst->imm, sizeof bits);
  if (inst->op != CT_OP_CONST || !ct_is_float((CtDtype)inst->type)) {
    put_signed(w, inst->imm.i);
    return;
  }
  for (int i = 0; i < 8; i++) { /* the low bytes of most are 0 */
    back = back << 8 | (bits >> (8 * i) & 0xff);
  }
  put_number(w, back);
}

static void put_data(Writer *w, const CtInst *inst) {
  const CtShape *shape = ct_shape_of_op((CtOp)inst->op);
  if (shape != NULL) {
    put_shape(w, shape, inst->u.tile); /* a pointer, whatever it is to */
  } else {
    put_number(w, inst->u.regions[0]);
    put_number(w, inst->u.regions[1]);
  }
}

/* Each by its distance from the one before. */
static void put_members(Writer *w, const CtRegionInfo *r) {
  uint64_t n = 0;
  for (CtVal v = r->first; v != 0; v = w->ir->insts[v].next) {
    n++;
  }
  put_number(w, n);
  CtVal before = 0;
  for (CtVal v = r->first; v != 0; v = w->ir->insts[v].next) {
    put_signed(w, (int64_t)v - (int64_t)before);
    before = v;
  }
}

static void put_array(Writer *w, const CtField *f, const void *base, const void *at) {
  const char *items = field_pointer(at);
  uint64_t n = ct_field_count(f, base);
  for (uint64_t i = f->first; i < n; i++) {
    put_shape(w, f->of, items + i * f->of->size);
  }
}

static void put_elements(Writer *w, const CtBuf *b) {
  ct_text_add(w->out, b->data, ct_dense_bytes(b->dtype, (size_t)b->n_elems.v));
}

static void put_element(Writer *w, const CtField *f, const void *base, const void *at) {
  switch ((CtFieldKind)f->kind) {
    case CT_FIELD_UINT:
    case CT_FIELD_BOOL: put_number(w, ct_field_uint(at, f->size)); break;
    case CT_FIELD_INT: put_signed(w, get_signed(at, f->size)); break;
    case CT_FIELD_IMM: put_imm(w, base); break;
    case CT_FIELD_FACTS:
    case CT_FIELD_PART: put_shape(w, f->of, at); break;
    case CT_FIELD_TEXT: put_string(w, field_pointer(at)); break;
    case CT_FIELD_TUPLE: put_nodes(w, field_pointer(at)); break;
    case CT_FIELD_INTEGER: put_integer_as(w, *(const CtInt *)at, 0); break;
    case CT_FIELD_ARRAY:
    case CT_FIELD_TABLE: put_array(w, f, base, at); break;
    case CT_FIELD_ATOM: put_string(w, ((const CtAtom *)field_pointer(at))->name); break;
    case CT_FIELD_BYTES: put_elements(w, base); break;
    case CT_FIELD_DATA: put_data(w, base); break;
    case CT_FIELD_MEMBERS: put_members(w, base); break;
    case CT_FIELD_KIND_COUNT: break;
  }
}

static void put_field(Writer *w, const CtField *f, const void *base) {
  const char *at = (const char *)base + f->at;
  for (int i = 0, n = ct_field_times(f, base); i < n; i++) {
    put_element(w, f, base, at + (size_t)i * f->size);
  }
}

static void put_shape(Writer *w, const CtShape *shape, const void *base) {
  uint64_t mask = 0;
  for (int i = 0; i < shape->n; i++) {
    mask |= (uint64_t)(shape->n == 1 || has_field(&shape->fields[i], base)) << i;
  }
  if (shape->n > 1) {
    put_number(w, mask);
  }
  for (int i = 0; i < shape->n; i++) {
    if (mask >> i & 1) {
      put_field(w, &shape->fields[i], base);
    }
  }
}

/* --- the whole ---------------------------------------------------------------------------------- */

static void put_ir(Writer *w, const CtIr *ir) {
  w->ir = ir;
  put_shape(w, &ct_shape_head, ir);
  put_shape(w, &ct_shape_body, ir);
}

/* The oldest first, which calls none of the others. */
static void put_functions(Writer *w, const CtIrFunction *f, uint64_t n) {
  if (f == NULL) {
    put_number(w, n);
    return;
  }
  put_functions(w, f->next, n + 1);
  put_string(w, f->key);
  put_number(w, f->is_noinline);
  put_ir(w, &f->ir);
}

CtStatus ct_ir_write(const CtIr *ir, CtText *out, CtErr *err) {
  Writer w = {.out = out, .alloc = out->alloc};
  ct_text_add(out, CT_IR_FILE_MAGIC, strlen(CT_IR_FILE_MAGIC));
  put_fixed(&w, CT_IR_FILE_VERSION, 4);
  put_fixed(&w, ct_ir_file_fingerprint(), 8);
  put_ir(&w, ir);
  put_functions(&w, ir->functions, 0);
  ct_free(w.alloc, (void *)w.texts, w.cap_texts * sizeof *w.texts);
  return ct_text_status(out, err);
}
