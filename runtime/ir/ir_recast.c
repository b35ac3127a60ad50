/* ir_recast.c: the same memory as elements of another type. The view stands on a buffer of its own that
   says whose memory it is (CtBuf.alias_of), so that an element's type is its buffer's everywhere. */
#include <inttypes.h>
#include <string.h>

#include "ir_build.h"
#include "runtime/layout/walk.h"

uint32_t ct_ir_memory(const CtIr *ir, uint32_t buf) {
  return ir->bufs[buf].alias_of != 0 ? ir->bufs[buf].alias_of : buf;
}

static CtStatus fail(const CtIr *ir, CtView v, CtDtype t, const char *why, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  const char *name = v.name != NULL ? v.name : buf->name;
  return ct_fail(err, CT_EINVAL, "recast: %s of %s as %s: %s", name != NULL ? name : "a tensor",
                 ct_dtypes[buf->dtype].name, ct_dtypes[t].name, why);
}

void ct_ir_forget_coordinates(CtIr *ir, CtBuf *buf) {
  buf->layout.shape = ct_leaf(&ir->arena, (CtInt){.kind = CT_ANY});
  buf->layout.stride = ct_leaf(&ir->arena, ct_int(1));
  ir->failed = ir->failed || buf->layout.shape == NULL || buf->layout.stride == NULL;
}

/* Does the buffer's swizzle keep the parts of each element of type t side by side? */
static bool keeps_elements(const CtBuf *of, int to) {
  return of->swizzle.bits == 0 || of->swizzle.base >= 6 ||
         ct_dtype_pitch(of->dtype) << of->swizzle.base >= to;
}

/* Does the alias say the same of its memory? */
static bool is_same_alias(const CtBuf *a, const CtBuf *b) {
  return a->alias_of == b->alias_of && a->remote == 0 && a->dtype == b->dtype &&
         a->cache == b->cache && ct_swizzle_equal(a->swizzle, b->swizzle);
}

/* The buffer of memory `root` as elements of type t under a swizzle, with a hint: root itself, an
   earlier alias or a new one. Of a swizzled one at least the first n elements are there, and no swizzle
   leads out. */
static uint32_t alias_of(CtIr *ir, uint32_t root, CtDtype t, CtSwizzle sw, CtCacheHint cache,
                         int64_t n) {
  const CtBuf *of = &ir->bufs[root];
  bool is_plain = of->dtype == t && ct_swizzle_equal(of->swizzle, sw);
  if (is_plain && cache == CT_CACHE_NONE) {
    return root;
  }
  if (of->chosen != 0) {
    return ct_ir_chosen_as(ir, root, t);
  }
  CtBuf buf = *of;
  buf.dtype = t;
  buf.swizzle = sw;
  buf.cache = cache;
  buf.alias_of = root;
  buf.name = NULL;
  if (buf.n_elems.kind == CT_STATIC) {
    buf.n_elems.v = 8 * ct_dtype_span(of->dtype, of->n_elems.v) / ct_dtype_pitch(t);
    buf.n_elems.v = ct_max(n, buf.n_elems.v - buf.n_elems.v % ct_swizzle_block(sw));
  }
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    if (is_same_alias(&ir->bufs[i], &buf)) {
      ir->bufs[i].n_elems.v = ct_max(ir->bufs[i].n_elems.v, buf.n_elems.v);
      return i;
    }
  }
  if (!is_plain) {
    ct_ir_forget_coordinates(ir, &buf);
  }
  uint32_t made = ir->failed ? 0 : ct_ir_new_buf(ir, &buf);
  if (cache != CT_CACHE_NONE || ct_dtype_is_packed(ir->bufs[root].dtype)) {
    ir->bufs[made].name = ir->bufs[root].name; /* the same elements, in messages too */
  }
  return ir->failed ? root : made;
}

/* Elements from the start, in the other type; NULL, or why that is not known to be a whole number. */
static const char *recast_offset(CtIr *ir, CtView v, int from, int to, CtInt *out, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt n = ct_int(to > from ? to / from : from / to);
  if (to <= from) {
    return ct_int_op(&cx, CT_INT_MUL, v.offset, n, out, err) == CT_OK ? NULL : err->msg;
  }
  if (ct_ir_facts(ir, v.offset).div % n.v != 0) {
    return "it is not known to begin at a multiple of the larger element";
  }
  return ct_int_op(&cx, CT_INT_DIV, v.offset, n, out, err) == CT_OK ? NULL : err->msg;
}

/* --- registers ---------------------------------------------------------------------------------------- */

enum { MAX_RECAST = 4096 }; /* elements: each is an operation of the kernel or several */

static CtDtype word_of(int bits) {
  return bits <= 8 ? CT_u8 : bits == 16 ? CT_u16 : bits == 32 ? CT_u32 : CT_u64;
}

/* The bits of a value as another type, see ct_ir_can_rebit. */
static CtVal rebit(CtIr *ir, CtVal v, CtDtype t) {
  const CtInst *x = ct_inst(ir, v);
  CT_ASSERT(ct_ir_can_rebit((CtDtype)x->type, t) || ir->failed);
  if (ct_dtypes[x->type].bits == ct_dtypes[t].bits || v == 0) {
    return ct_ir_bitcast(ir, v, t);
  }
  if (x->op == CT_OP_BITCAST && ct_inst(ir, x->args[0])->type == t) {
    return x->args[0];
  }
  if (!ct_dtype_is_packed(t) && t != CT_u8) { /* those of packed elements are cut out before */
    CtVal low = ct_ir_const_int(ir, CT_u32, (1 << ct_dtypes[t].bits) - 1);
    v = ct_ir_cast(ir, ct_ir_binary(ir, CT_OP_AND, ct_ir_cast(ir, v, CT_u32), low), CT_u8);
  }
  CtInst key = {.op = CT_OP_BITCAST, .type = (uint8_t)t, .args = {v}};
  key.facts = ct_type_facts(t);
  return ct_ir_shared_inst(ir, &key);
}

static CtVal load_at(CtIr *ir, uint32_t buf, int64_t e) {
  return ct_ir_load(ir, buf, ct_ir_const_int(ir, CT_i32, e));
}

/* Element e of the buffer seen as type t, put together from its own elements or cut out of one. */
static CtVal load_as(CtIr *ir, uint32_t buf, int64_t e, CtDtype t) {
  CtDtype from = ir->bufs[buf].dtype;
  int wide = ct_dtype_pitch(t), narrow = ct_dtype_pitch(from);
  if (wide == narrow) {
    return rebit(ir, load_at(ir, buf, e), t);
  }
  CtDtype word = ct_max(wide, narrow) == 64 ? CT_u64 : CT_u32, part = word_of(narrow);
  if (wide < narrow) {
    int64_t n = narrow / wide;
    CtVal bits = ct_ir_cast(ir, rebit(ir, load_at(ir, buf, e / n), part), word);
    CtVal count = ct_ir_const_int(ir, word, e % n * wide);
    bits = ct_ir_binary(ir, CT_OP_SHR, bits, count);
    if (wide < 8) {
      bits = ct_ir_binary(ir, CT_OP_AND, bits, ct_ir_const_int(ir, word, (1 << wide) - 1));
    }
    return rebit(ir, ct_ir_cast(ir, bits, word_of(wide)), t);
  }
  CtVal sum = ct_ir_const_int(ir, word, 0);
  for (int i = 0; i < wide / narrow; i++) {
    CtVal v = load_at(ir, buf, e * (wide / narrow) + i);
    CtVal bits = ct_ir_cast(ir, rebit(ir, v, part), word);
    bits = ct_ir_binary(ir, CT_OP_SHL, bits, ct_ir_const_int(ir, word, i * narrow));
    sum = i == 0 ? bits : ct_ir_binary(ir, CT_OP_OR, sum, bits);
  }
  return rebit(ir, ct_ir_cast(ir, sum, word_of(wide)), t);
}

/* v as elements of type t that begin at `offset`: which elements those are, or why not. */
static CtStatus whole_elements(CtIr *ir, CtView v, CtDtype t, CtInt offset, CtLayout *out,
                               int64_t *n, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt before, after;
  int from = ct_dtype_pitch(ir->bufs[v.buf].dtype), to = ct_dtype_pitch(t);
  CtStatus status = ct_recast_elements(&cx, v.layout, from, to, out, err);
  status = status == CT_OK ? ct_size(&cx, v.layout, &before, err) : status;
  status = status == CT_OK ? ct_size(&cx, *out, &after, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (from == to && !ct_ir_can_rebit(ir->bufs[v.buf].dtype, t)) {
    return fail(ir, v, t, "their values have different numbers of bits; write cast", err);
  }
  if (!ct_is_static(offset) || !ct_layout_is_static(*out)) {
    return fail(ir, v, t, "which registers those are must be known while tracing", err);
  }
  if (before.v * from != after.v * to) {
    return fail(ir, v, t, "its elements do not make a whole number of the larger ones", err);
  }
  *n = after.v;
  return *n <= MAX_RECAST ? CT_OK : fail(ir, v, t, "it has more than 4096 elements", err);
}

/* Registers have no addresses: their bits go to a fragment of their own. */
static CtStatus recast_registers(CtIr *ir, CtView v, CtDtype t, CtInt offset, CtView *out,
                                 CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtLayout seen, compact;
  int64_t n = 0;
  CtStatus status = whole_elements(ir, v, t, offset, &seen, &n, err);
  status = status == CT_OK ? ct_layout_make(&cx, seen.shape, NULL, &compact, err) : status;
  if (status != CT_OK) {
    return status;
  }
  CtView made = ct_ir_fragment(ir, NULL, t, compact);
  for (int64_t i = 0; i < n && !ir->failed; i++) {
    CtInt at;
    CtTuple crd = ct_leaf(&ir->arena, ct_int(i));
    status = crd == NULL ? ct_fail_nomem(err) : ct_crd2idx(&cx, crd, seen, &at, err);
    if (status != CT_OK) {
      return status;
    }
    ct_ir_store(ir, made.buf, ct_ir_const_int(ir, CT_i32, i),
                load_as(ir, v.buf, offset.v + at.v, t));
  }
  if (ir->failed) {
    return ct_fail_nomem(err);
  }
  ir->bufs[made.buf].is_fixed = true;
  *out = made;
  return CT_OK;
}

CtStatus ct_ir_recast(CtIr *ir, CtView v, CtDtype t, CtView *out, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  int from = ct_dtype_pitch(buf->dtype), to = ct_dtype_pitch(t);
  CtCx cx = ct_ir_cx(ir);
  *out = v;
  if (buf->remote != 0) {
    return fail(ir, v, t, "it is another block's; give it the type before remote", err);
  }
  if (t == CT_bool || buf->dtype == CT_bool) {
    return fail(ir, v, t, "a bool has only the values 0 and 1", err);
  }
  if (buf->space == CT_TENSOR) {
    return fail(ir, v, t, "tensor memory keeps its type; recast the fragment that it is copied to",
                err);
  }
  if (buf->space == CT_CONSTANT && (from < 8) != (to < 8)) {
    return fail(ir, v, t, "constant memory is not packed; copy it to a fragment", err);
  }
  CT_ASSERT(v.guard == NULL); /* says what lies inside by coordinates of its own elements */
  const char *why = recast_offset(ir, v, from, to, &out->offset, err);
  if (why == NULL && buf->space == CT_REGISTER) {
    return recast_registers(ir, v, t, out->offset, out, err);
  }
  if (why == NULL && !keeps_elements(buf, to)) {
    why = "its swizzle moves the parts of a larger element apart; choose one with a larger M";
  }
  if (why == NULL && to > from && ct_ir_view_align(ir, v) < (size_t)ct_min(to / 8, 16)) {
    why = "its address is not known to be aligned for the larger element";
  }
  if (why != NULL) {
    return fail(ir, v, t, why, err);
  }
  CtSwizzle sw;
  CtStatus status = ct_recast_elements(&cx, v.layout, from, to, &out->layout, err);
  status = status == CT_OK ? ct_swizzle_recast(buf->swizzle, from, to, &sw, err) : status;
  if (status != CT_OK) {
    return status;
  }
  int64_t n =
      buf->n_elems.kind == CT_STATIC ? 8 * ct_dtype_span(buf->dtype, buf->n_elems.v) / to : 0;
  out->buf = alias_of(ir, ct_ir_memory(ir, v.buf), t, sw, buf->cache, n);
  return status == CT_OK && ir->failed ? ct_fail_nomem(err) : status;
}

CtStatus ct_ir_view_swizzled(CtIr *ir, CtView v, const CtComposed *l, CtView *out, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  CtCx cx = ct_ir_cx(ir);
  int64_t lo, hi, size, n, period = ct_swizzle_period(l->swizzle);
  const char *name = v.name != NULL ? v.name : "the tensor";
  if (ir->failed) {
    return ct_fail_nomem(err); /* memory may have run out before the buffer was made */
  }
  if (ct_ir_is_packed(ir, v.buf) && l->swizzle.bits != 0 && l->swizzle.base < 1) {
    return ct_fail(err, CT_EINVAL,
                   "view: two elements of %s share a byte, and the swizzle moves "
                   "them apart; use one with M >= 1",
                   ct_dtypes[buf->dtype].name);
  }
  CT_ASSERT(buf->space == CT_SHARED && !ct_buf_is_swizzled(buf) && ct_composed_is_static(l));
  if ((ct_ir_bits_of_int(ir, v.offset) & ((uint64_t)period - 1)) != 0) {
    return ct_fail(
        err, CT_EINVAL,
        "view: a swizzle counts from the start of the memory, and %s does not begin at a "
        "multiple of %" PRId64 " elements of it for certain",
        name, period);
  }
  CtStatus status = ct_walk_bounds(l->layout, &lo, &hi, &size, err);
  status = status == CT_OK ? ct_swizzle_extent(l->swizzle, l->offset.v + hi + 1, &n, err) : status;
  int64_t start = ct_is_static(v.offset) ? v.offset.v : 0;
  if (status == CT_OK && lo + l->offset.v < 0) {
    return ct_fail(err, CT_EINVAL,
                   "view: layout %s has indices below 0; strides >= 0 were expected",
                   ct_show_composed(&cx, l));
  }
  if (status == CT_OK && n > buf->n_elems.v - start) {
    return ct_fail(err, CT_EINVAL, "view: %s needs %" PRId64 " elements; %s has %" PRId64,
                   ct_show_composed(&cx, l), n, name, buf->n_elems.v - start);
  }
  *out = v;
  out->layout = l->layout;
  status =
      status == CT_OK ? ct_int_op(&cx, CT_INT_ADD, v.offset, l->offset, &out->offset, err) : status;
  if (status == CT_OK) {
    out->buf = alias_of(ir, ct_ir_memory(ir, v.buf), buf->dtype, l->swizzle, CT_CACHE_NONE,
                        ct_is_static(v.offset) ? start + n : 0);
    status = ir->failed ? ct_fail_nomem(err) : CT_OK;
  }
  return status;
}

/* --- hints for caches --------------------------------------------------------------------------------- */

const char *const ct_spaces[CT_TENSOR + 1] = {[CT_GLOBAL] = "global",
                                              [CT_SHARED] = "shared",
                                              [CT_REGISTER] = "register",
                                              [CT_CONSTANT] = "constant",
                                              [CT_TENSOR] = "tensor"};

const char *const ct_caches[CT_CACHE_COUNT] = {[CT_CACHE_NONE] = "none",
#define X(NAME, text) [CT_CACHE_##NAME] = (text),
                                               CT_CACHES(X)
#undef X
};

CtStatus ct_ir_cached(CtIr *ir, CtView v, CtCacheHint cache, CtView *out, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  if (buf->space != CT_GLOBAL) {
    return ct_fail(err, CT_EINVAL,
                   "cache_hint: %s is in %s; hints are for tensors in global "
                   "memory, which the caches serve",
                   ct_ir_view_name(ir, &v),
                   buf->space == CT_SHARED ? "shared memory" : "registers");
  }
  *out = v;
  out->buf = alias_of(ir, ct_ir_memory(ir, v.buf), buf->dtype, buf->swizzle, cache, 0);
  return ir->failed ? ct_fail_nomem(err) : CT_OK;
}

/* --- elements that share bytes -------------------------------------------------------------------------- */

/* The memory of packed elements (ct_dtype_is_packed) is accessed as bytes. A store to one element reads its byte and
   writes it back: two threads that store to one byte race, and check reports that as it reports any other race. */
enum { ELEMENT_BITS = 4, ELEMENT_MASK = 15 };

/* A byte of a packed buffer, and where in it the element lies. */
typedef struct Place {
  uint32_t bytes; /* the buffer as u8 */
  CtVal at;       /* its byte */
  CtVal shift;    /* u32: bits below the element */
} Place;

static uint32_t bytes_of(CtIr *ir, uint32_t buf) {
  const CtBuf *b = &ir->bufs[buf];
  CtSwizzle sw = b->swizzle;
  CtErr err;
  if (sw.bits != 0 && ct_swizzle_recast(b->swizzle, ELEMENT_BITS, 8, &sw, &err) != CT_OK) {
    ir->failed = true;
    return buf;
  }
  int64_t n = b->n_elems.kind == CT_STATIC ? ct_dtype_span(b->dtype, b->n_elems.v) : 0;
  return alias_of(ir, ct_ir_memory(ir, buf), CT_u8, sw, b->cache, n);
}

static Place place_of(CtIr *ir, uint32_t buf, CtVal offset) {
  CtDtype index = (CtDtype)ct_inst(ir, offset)->type;
  CtVal one = ct_ir_const_int(ir, index, 1);
  CtVal odd = ct_ir_binary(ir, CT_OP_AND, offset, one);
  CtVal shift = ct_ir_binary(ir, CT_OP_SHL, odd, ct_ir_const_int(ir, index, 2));
  return (Place){.bytes = bytes_of(ir, buf),
                 .at = ct_ir_binary(ir, CT_OP_SHR, offset, one),
                 .shift = ct_ir_cast(ir, shift, CT_u32)};
}

static CtVal u32_of(CtIr *ir, int64_t v) { return ct_ir_const_int(ir, CT_u32, v); }

CtVal ct_ir_packed_element(CtIr *ir, CtVal bits, CtDtype t) {
  bits = ct_ir_binary(ir, CT_OP_AND, bits, u32_of(ir, ELEMENT_MASK));
  return rebit(ir, ct_ir_cast(ir, bits, CT_u8), t);
}

CtVal ct_ir_packed_bits(CtIr *ir, CtVal v) { return ct_ir_cast(ir, rebit(ir, v, CT_u8), CT_u32); }

CtVal ct_ir_load_packed(CtIr *ir, uint32_t buf, CtVal offset) {
  CtDtype t = ir->bufs[buf].dtype;
  Place p = place_of(ir, buf, offset);
  CtVal byte = ir->failed ? 0 : ct_ir_cast(ir, ct_ir_load(ir, p.bytes, p.at), CT_u32);
  return ir->failed ? 0 : ct_ir_packed_element(ir, ct_ir_binary(ir, CT_OP_SHR, byte, p.shift), t);
}

void ct_ir_store_packed(CtIr *ir, uint32_t buf, CtVal offset, CtVal value) {
  Place p = place_of(ir, buf, offset);
  if (ir->failed) {
    return;
  }
  CtVal byte = ct_ir_cast(ir, ct_ir_load(ir, p.bytes, p.at), CT_u32);
  CtVal other = ct_ir_binary(ir, CT_OP_SHR, u32_of(ir, ELEMENT_MASK << ELEMENT_BITS), p.shift);
  CtVal mine = ct_ir_binary(ir, CT_OP_SHL, ct_ir_packed_bits(ir, value), p.shift);
  CtVal both = ct_ir_binary(ir, CT_OP_OR, ct_ir_binary(ir, CT_OP_AND, byte, other), mine);
  ct_ir_store(ir, p.bytes, p.at, ct_ir_cast(ir, both, CT_u8));
}
