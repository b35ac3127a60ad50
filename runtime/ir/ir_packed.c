/* ir_packed.c: copies and fills, also of memory whose elements share bytes (ct_dtype_is_packed). These are copies of
   bytes, by way of an alias of type u8; on the way to registers and from them, elements are cut out of bytes and put
   together. So engines and tools see accesses to bytes alone. */
#include <string.h>

#include "ir_build.h"

enum { PER_BYTE = 2, ELEMENT_BITS = 4, MAX_ELEMENTS = 4096 };

static CtVal word(CtIr *ir, int64_t v) { return ct_ir_const_int(ir, CT_u32, v); }

/* --- copies -------------------------------------------------------------------------------------------------- */

static CtStatus fail(const CtIr *ir, const char *op, CtView v, const char *why, CtErr *err) {
  return ct_fail(err, CT_EINVAL,
                 "%s: %s has elements of %s, two of which share a byte, and %s; copy its elements "
                 "one by one, or recast it as u8",
                 op, ct_ir_view_name(ir, &v), ct_dtypes[ir->bufs[v.buf].dtype].name, why);
}

/* The leaf of a layout along which elements share bytes: the one with stride 1, whose extent is even. -1: there is not
   exactly one. *n_leaves is how many there are. */
static int packed_leaf(const CtIr *ir, CtLayout l, int *n_leaves) {
  int at = 0, found = -1, n_found = 0;
  for (CtLeaves w = ct_layout_leaves(l); ct_next_leaf(&w); at++) {
    bool is_one = ct_is_const(w.stride->i, 1) && !ct_is_const(w.shape->i, 1);
    if (is_one) {
      found = ct_ir_facts(ir, w.shape->i).div % PER_BYTE != 0 ? -1 : at;
      n_found++;
    }
  }
  *n_leaves = at;
  return n_found == 1 ? found : -1;
}

/* Does the condition depend on the leaf? */
static bool reads_leaf(CtTuple stride, int leaf) {
  int at = 0;
  for (CtLeaves w = ct_leaves_of(stride); ct_next_leaf(&w); at++) {
    if (at == leaf) {
      return !ct_is_const(w.shape->i, 0);
    }
  }
  return true;
}

/* The view as bytes. Guards stay, if none of them ends within a byte: they ask of other modes than the one along which
   elements share bytes. */
static CtStatus as_bytes(CtIr *ir, const char *op, CtView v, CtView *out, CtErr *err) {
  int n_leaves, leaf = packed_leaf(ir, v.layout, &n_leaves);
  if (leaf < 0) {
    return fail(ir, op, v, "no mode of its layout has stride 1 and an even extent", err);
  }
  for (int i = 0; i < ct_guard_n(&v); i++) {
    if (reads_leaf(v.guard->axis[i].stride, leaf)) {
      return fail(ir, op, v, "a guard may end within a byte", err);
    }
  }
  const CtGuard *guard = v.guard;
  v.guard = NULL;
  CtStatus status = ct_ir_recast(ir, v, CT_u8, out, err);
  out->guard = guard;
  return status;
}

/* Which elements of a view the bytes hold, both counted colexicographically: element e is half `half[e]` of byte
   `byte[e]`. */
typedef struct Halves {
  int64_t n;
  uint16_t *byte;
  uint8_t *half;
} Halves;

static CtStatus find_halves(CtIr *ir, CtView v, Halves *out, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt size;
  int n_leaves, leaf = packed_leaf(ir, v.layout, &n_leaves);
  CtStatus status = ct_size(&cx, v.layout, &size, err);
  if (status != CT_OK) {
    return status;
  }
  if (!ct_all_static(v.layout.shape) || size.v > MAX_ELEMENTS) {
    return fail(ir, "copy", v,
                "a fragment is filled only with at most 4096 of them, whose shape is static", err);
  }
  *out = (Halves){.n = size.v,
                  .byte = ct_arena_alloc(&ir->arena, (size_t)size.v * sizeof *out->byte + 1),
                  .half = ct_arena_alloc(&ir->arena, (size_t)size.v + 1)};
  if (out->byte == NULL || out->half == NULL) {
    return ct_fail_nomem(err);
  }
  for (int64_t e = 0; e < size.v; e++) {
    int64_t rest = e, at = 0, step = 1;
    int i = 0;
    for (CtLeaves w = ct_leaves_of(v.layout.shape); ct_next_leaf(&w); i++) {
      int64_t extent = w.shape->i.v, c = rest % extent;
      rest /= extent;
      if (i == leaf) {
        out->half[e] = (uint8_t)(c % PER_BYTE);
        c /= PER_BYTE;
        extent /= PER_BYTE;
      }
      at += c * step;
      step *= extent;
    }
    out->byte[e] = (uint16_t)at;
  }
  return CT_OK;
}

/* A fragment of the bytes of a view. */
static CtStatus fragment_like(CtIr *ir, CtView bytes, CtView *out, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtLayout compact;
  CtStatus status = ct_layout_make(&cx, bytes.layout.shape, NULL, &compact, err);
  if (status == CT_OK) {
    *out = ct_ir_fragment(ir, NULL, CT_u8, compact);
    status = ir->failed ? ct_fail_nomem(err) : CT_OK;
  }
  return status;
}

static CtStatus register_at(CtIr *ir, CtView v, int64_t e, CtVal *out, CtErr *err) {
  CtTuple crd = ct_leaf(&ir->arena, ct_int(e));
  return crd == NULL ? ct_fail_nomem(err) : ct_ir_offset(ir, v, crd, out, err);
}

static CtVal i32(CtIr *ir, int64_t v) { return ct_ir_const_int(ir, CT_i32, v); }

static CtStatus unpack(CtIr *ir, const Halves *h, CtView bytes, CtView dst, CtErr *err) {
  CtDtype t = ir->bufs[dst.buf].dtype;
  CtStatus status = CT_OK;
  for (int64_t e = 0; e < h->n && status == CT_OK && !ir->failed; e++) {
    CtVal at;
    status = register_at(ir, dst, e, &at, err);
    if (status == CT_OK) {
      CtVal byte = ct_ir_cast(ir, ct_ir_load(ir, bytes.buf, i32(ir, h->byte[e])), CT_u32);
      CtVal bits = ct_ir_binary(ir, CT_OP_SHR, byte, word(ir, h->half[e] * ELEMENT_BITS));
      ct_ir_store(ir, dst.buf, at, ct_ir_packed_element(ir, bits, t));
    }
  }
  return status == CT_OK && ir->failed ? ct_fail_nomem(err) : status;
}

static CtStatus pack(CtIr *ir, const Halves *h, CtView src, CtView bytes, CtErr *err) {
  CtVal *low = ct_arena_alloc(&ir->arena, (size_t)h->n * sizeof *low + 1);
  CtStatus status = low == NULL ? ct_fail_nomem(err) : CT_OK;
  for (int half = 0; half < PER_BYTE; half++) {
    for (int64_t e = 0; e < h->n && status == CT_OK && !ir->failed; e++) {
      CtVal at;
      if (h->half[e] != half) {
        continue;
      }
      status = register_at(ir, src, e, &at, err);
      CtVal bits = status == CT_OK ? ct_ir_packed_bits(ir, ct_ir_load(ir, src.buf, at)) : 0;
      if (half == 0) {
        low[h->byte[e]] = bits;
      } else if (status == CT_OK) {
        bits = ct_ir_binary(ir, CT_OP_SHL, bits, word(ir, ELEMENT_BITS));
        bits = ct_ir_binary(ir, CT_OP_OR, low[h->byte[e]], bits);
        ct_ir_store(ir, bytes.buf, i32(ir, h->byte[e]), ct_ir_cast(ir, bits, CT_u8));
      }
    }
  }
  return status == CT_OK && ir->failed ? ct_fail_nomem(err) : status;
}

/* From packed memory to registers. */
static CtStatus read_packed(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  CtView bytes, own;
  Halves halves;
  CtStatus status = as_bytes(ir, "copy", src, &bytes, err);
  status = status == CT_OK ? find_halves(ir, src, &halves, err) : status;
  status = status == CT_OK ? fragment_like(ir, bytes, &own, err) : status;
  status = status == CT_OK ? ct_tile_copy(ir, bytes, own, err) : status;
  return status == CT_OK ? unpack(ir, &halves, own, dst, err) : status;
}

/* From registers to packed memory. */
static CtStatus write_packed(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  CtView bytes, own;
  Halves halves;
  CtStatus status = as_bytes(ir, "copy", dst, &bytes, err);
  status = status == CT_OK ? find_halves(ir, dst, &halves, err) : status;
  status = status == CT_OK ? fragment_like(ir, bytes, &own, err) : status;
  status = status == CT_OK ? pack(ir, &halves, src, own, err) : status;
  return status == CT_OK ? ct_tile_copy(ir, own, bytes, err) : status;
}

static CtStatus copy_bytes(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  CtView from, to;
  int n_from, n_to;
  if (packed_leaf(ir, src.layout, &n_from) != packed_leaf(ir, dst.layout, &n_to) ||
      n_from != n_to) {
    return fail(ir, "copy", src, "the destination has its pairs along another mode", err);
  }
  CtStatus status = as_bytes(ir, "copy", src, &from, err);
  status = status == CT_OK ? as_bytes(ir, "copy", dst, &to, err) : status;
  return status == CT_OK ? ct_tile_copy(ir, from, to, err) : status;
}

static CtStatus copy_packed(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  bool same = ir->bufs[src.buf].dtype == ir->bufs[dst.buf].dtype;
  if (same && ct_ir_is_packed(ir, src.buf) && ct_ir_is_packed(ir, dst.buf)) {
    return copy_bytes(ir, src, dst, err);
  }
  if (ct_ir_is_packed(ir, dst.buf) && ir->bufs[src.buf].space == CT_REGISTER) {
    return write_packed(ir, src, dst, err);
  }
  if (same && ir->bufs[dst.buf].space == CT_REGISTER && ct_guard_n(&dst) == 0) {
    return read_packed(ir, src, dst, err);
  }
  CtCx cx = ct_ir_cx(ir); /* elements are widened on the way, or come from constant memory */
  CtLayout compact;
  CtStatus status = ct_layout_make(&cx, src.layout.shape, NULL, &compact, err);
  if (status == CT_OK && !ct_layout_is_static(compact)) {
    return fail(ir, "copy", src, "its shape is known only at run time", err);
  }
  CtView own = status == CT_OK ? ct_ir_fragment(ir, NULL, ir->bufs[src.buf].dtype, compact) : src;
  status = status == CT_OK && ir->failed ? ct_fail_nomem(err) : status;
  status = status == CT_OK ? ct_ir_copy(ir, src, own, err) : status;
  return status == CT_OK ? ct_ir_copy(ir, own, dst, err) : status;
}

static CtStatus fill_packed(CtIr *ir, CtView dst, CtVal value, CtErr *err) {
  CtView bytes;
  CtStatus status = as_bytes(ir, "fill", dst, &bytes, err);
  if (status != CT_OK) {
    return status;
  }
  CtVal bits = ct_ir_packed_bits(ir, value);
  CtVal high = ct_ir_binary(ir, CT_OP_SHL, bits, word(ir, ELEMENT_BITS));
  bits = ct_ir_cast(ir, ct_ir_binary(ir, CT_OP_OR, bits, high), CT_u8);
  return ct_tile_fill(ir, bytes, bits, err);
}

CtStatus ct_ir_copy(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  if (!ct_ir_is_packed(ir, src.buf) && !ct_ir_is_packed(ir, dst.buf)) {
    return ct_tile_copy(ir, src, dst, err);
  }
  CtTileCx c = ct_tile_begin(ir, "copy", NULL, err);
  ct_tile_check_pair(&c, src, dst);
  return c.g.status == CT_OK ? copy_packed(ir, src, dst, err) : c.g.status;
}

CtStatus ct_ir_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) {
  CtTileCx c = ct_tile_begin(ir, "fill", NULL, err);
  ct_tile_check_writable(&c, dst);
  return c.g.status != CT_OK            ? c.g.status
         : ct_ir_is_packed(ir, dst.buf) ? fill_packed(ir, dst, value, err)
                                        : ct_tile_fill(ir, dst, value, err);
}
