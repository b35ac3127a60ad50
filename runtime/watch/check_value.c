/* check_value.c: the values that an access is about to write. `check` does not report a write of
   the value that is there already, nor two lanes that write the same value. */
#include <string.h>

#include "runtime/base/convert.h"
#include "check_parts.h"

static uint64_t bits_at(const char *p, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, p, bytes); /* little-endian */
  return bits;
}

/* The bits of a lane of a slot; a bool is a bit of a mask. */
static uint64_t slot_bits(const CtWarp *w, uint32_t at, CtDtype t, int lane) {
  size_t bytes = ct_value_bytes(t);
  if (t == CT_bool) {
    return *CT_CAT(uint32_t, w, at) >> lane & 1;
  }
  return bits_at(CT_CAT(char, w, at) + (size_t)lane * (bytes == 8 ? 8 : 4), bytes);
}

/* The bits that a copy moves into its element e. */
static bool copied_bits(const CtAccess *a, const CtTileOp *t, int64_t e, int lane, uint64_t *bits) {
  const CtMem *mem = &a->w->mem[t->a.buf];
  int64_t off = ct_simt_arg_offset(a->w, &t->a, lane, e, 0);
  if (!ct_simt_arg_is_inside(a->w, &t->a, lane, e, 0)) {
    *bits = 0;
    return true;
  }
  if ((uint64_t)off >= (uint64_t)mem->n) {
    return false;
  }
  const char *p = mem->ptr + off * (int64_t)mem->elem_bytes + (int64_t)lane * mem->lane_bytes;
  *bits = ct_convert(t->dst.dtype, t->a.dtype, bits_at(p, ct_value_bytes(t->a.dtype)));
  return true;
}

/* The bits that the access writes into element e; false: they are not known yet. */
static bool written_bits(const CtAccess *a, int64_t e, int lane, uint64_t *bits) {
  const CtSimtProgram *p = a->w->worker->job->program;
  const CtIn *code = &p->code[a->in - a->w->worker->job->code];
  if (a->is_atomic || a->agent != CT_AGENT_NONE) {
    return false;
  }
  if (a->arg == NULL) {
    *bits = slot_bits(a->w, code->d, a->buf->dtype, lane);
    return true;
  }
  const CtTileOp *t = &p->tiles[code->imm];
  if (t->op == CT_OP_FILL) {
    *bits = slot_bits(a->w, code->d, t->dtype, lane);
    return true;
  }
  return t->op == CT_OP_COPY && !t->zero_fill && copied_bits(a, t, e, lane, bits);
}

bool ct_check_is_same(const CtAccess *a, int64_t e, int lane, int64_t off) {
  uint64_t bits;
  const char *p = ct_access_ptr(a, off);
  return written_bits(a, e, lane, &bits) && bits == bits_at(p, ct_value_bytes(a->buf->dtype));
}

bool ct_check_write_early(const CtAccess *a, int64_t e, int lane, int64_t off) {
  uint64_t bits;
  bool is_known = written_bits(a, e, lane, &bits);
  if (is_known) { /* little-endian, as bits_at */
    memcpy(ct_access_ptr(a, off), &bits, ct_value_bytes(a->buf->dtype));
  }
  return is_known;
}

/* The element that a lane writes to `off`; most likely it is e. */
static int64_t element_at(const CtAccess *a, int lane, int64_t off, int64_t e) {
  int64_t at;
  if (ct_access_at(a, e, lane, &at) && at == off) {
    return e;
  }
  for (e = 0; e < a->n && !(ct_access_at(a, e, lane, &at) && at == off); e++) {}
  return e;
}

bool ct_check_is_same_in(const CtAccess *a, int64_t e, int lane, int other, int64_t off) {
  uint64_t here, there;
  int64_t f = element_at(a, other, off, e);
  return f < a->n && written_bits(a, e, lane, &here) && written_bits(a, f, other, &there) &&
         here == there;
}
