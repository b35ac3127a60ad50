/* emit_tile_cast.c: casts of fragments, element by element, or two at once if the target has an
   instruction for that. The bits are those of ct_convert, as for every cast of a value
   (ir_cast.c). */
#include <inttypes.h>

#include "emit_tile.h"

/* Two f32 into one word, the first in its low half. */
typedef struct Packing {
  CtHelper helper;
  int sm;
  const char *word; /* NULL: there is none */
} Packing;

static const Packing packings[CT_DTYPE_COUNT] = {
    [CT_f16] = {CT_HELP_F32X2_TO_F16X2, 80, "unsigned"},
    [CT_bf16] = {CT_HELP_F32X2_TO_BF16X2, 80, "unsigned"},
    [CT_f8e4m3] = {CT_HELP_F32X2_TO_F8E4M3X2, 89, "unsigned short"},
    [CT_f8e5m2] = {CT_HELP_F32X2_TO_F8E5M2X2, 89, "unsigned short"},
};

static bool packs(const CtEmit *e, CtDtype to, CtDtype from) {
  return packings[to].word != NULL && e->ir->target.sm >= packings[to].sm && ct_is_float(from) &&
         ct_dtype_compute(from) == CT_f32;
}

static bool unpacks(const CtEmit *e, CtDtype from) {
  return from == CT_f8e4m3 && e->ir->target.sm >= 89;
}

int ct_emit_cast_width(const CtEmit *e, CtDtype to, CtDtype from) {
  return packs(e, to, from) || (unpacks(e, from) && to == CT_f32) ? 2 : 1;
}

/* --- one element -------------------------------------------------------------------------------------- */

/* The intermediate type, as in ct_ir_cast; CT_VOID: one step. */
static CtDtype step_of(CtDtype to, CtDtype from) {
  if (ct_is_narrow(from) && ct_dtype_compute(from) != to) {
    return ct_dtype_compute(from);
  }
  if (ct_is_narrow(to) && ct_is_int(to) && ct_is_float(from)) {
    return CT_i32;
  }
  return ct_is_narrow(to) && ct_is_float(to) && from == CT_bool ? CT_f32 : CT_VOID;
}

static void put_saturated(CtEmit *e, CtDtype to, const char *v) {
  ct_text_printf(&e->body, "(%s)max(min(%s, %" PRId64 "), %" PRId64 ")", ct_dtypes[to].cuda, v,
                 ct_dtype_max(to), ct_dtype_min(to));
}

/* Casts the expression v of type `from` in one step. v binds as tightly as a name. */
static const char *cast_step(CtEmit *e, CtDtype to, CtDtype from, const char *v) {
  size_t mark = e->body.len;
  if (to == CT_bool) {
    ct_text_printf(&e->body, "(%s != 0)", v);
  } else {
    CtEmitWrap w = ct_emit_wrap(e, to, from);
    ct_text_printf(&e->body, "%s%s%s", w.open, v, w.close);
  }
  return ct_emit_cut(e, mark);
}

static const char *cast_text(CtEmit *e, CtDtype to, CtDtype from, const char *v) {
  CtDtype way = step_of(to, from);
  if (way == CT_VOID) {
    return to == from ? v : cast_step(e, to, from, v);
  }
  const char *first = cast_text(e, way, from, v);
  if (ct_is_narrow(to) && ct_is_int(to) && ct_is_float(from) && !ct_is_narrow(from)) {
    size_t mark = e->body.len;
    put_saturated(e, to, first);
    return ct_emit_cut(e, mark);
  }
  return cast_text(e, to, way, first);
}

static const char *element(CtEmit *e, const CtEmitOperand *op, int64_t lane) {
  size_t mark = e->body.len;
  ct_emit_element(e, op, lane);
  return ct_emit_cut(e, mark);
}

/* --- two ------------------------------------------------------------------------------------------------ */

static void next_line(CtEmit *e, CtLoc loc) {
  ct_emit_end(e);
  ct_emit_begin(e, loc);
}

/* Two elements as two f32. */
static void widen_two(CtEmit *e, CtLoc loc, const CtEmitOperand *src, const int64_t *lanes,
                      const char *out[2]) {
  CtDtype from = src->buf->dtype;
  const char *lo = element(e, src, lanes[0]), *hi = element(e, src, lanes[1]);
  if (!unpacks(e, from)) {
    out[0] = cast_text(e, CT_f32, from, lo);
    out[1] = cast_text(e, CT_f32, from, hi);
    return;
  }
  const char *unpack = ct_emit_help(e, CT_HELP_F8E4M3X2_TO_F16X2);
  const char *v = ct_names_add(&e->names, "v");
  ct_text_printf(&e->body, "const unsigned %s = %s((unsigned short)(%s | %s << 8));", v, unpack, lo,
                 hi);
  next_line(e, loc);
  size_t mark = e->body.len;
  ct_text_printf(&e->body, "(unsigned short)%s", v);
  out[0] = cast_text(e, CT_f32, CT_f16, ct_emit_cut(e, mark));
  ct_text_printf(&e->body, "(unsigned short)(%s >> 16)", v);
  out[1] = cast_text(e, CT_f32, CT_f16, ct_emit_cut(e, mark));
}

/* Are the two elements halves of one word of a fragment that instructions take as words? They must
   be adjacent, the first at an even place. */
static bool is_half_of_words(const CtEmitOperand *dst, const int64_t *lanes) {
  bool is_even = dst->index == 0 && (dst->plus + lanes[0]) % 2 == 0 && lanes[1] == lanes[0] + 1;
  for (int i = 0; is_even && i < dst->n; i++) {
    is_even = ct_is_static(dst->term[i].stride.d) && dst->term[i].stride.d.v % 2 == 0;
  }
  return is_even && dst->buf->has_words;
}

/* *reinterpret_cast<unsigned*>(dst + i * 2) = f32x2_to_f16x2(x, y); to split and rejoin the halves
   would cost two more instructions. */
static void put_both(CtEmit *e, const CtEmitOperand *dst, int64_t lane, const char *const v[2]) {
  const Packing *p = &packings[dst->buf->dtype];
  CtEmitOperand at = *dst;
  at.plus += lane;
  ct_emit_vector(e, &at, 2, false);
  ct_text_printf(&e->body, " = %s(%s, %s);", ct_emit_help(e, p->helper), v[0], v[1]);
}

static void put_two(CtEmit *e, CtLoc loc, const CtEmitOperand *dst, const int64_t *lanes,
                    const char *const v[2]) {
  CtDtype to = dst->buf->dtype;
  const Packing *p = &packings[to];
  const char *word = NULL;
  if (p->word != NULL && is_half_of_words(dst, lanes)) {
    put_both(e, dst, lanes[0], v);
    return;
  }
  if (p->word != NULL) {
    word = ct_names_add(&e->names, "w");
    ct_text_printf(&e->body, "const %s %s = %s(%s, %s);", p->word, word, ct_emit_help(e, p->helper),
                   v[0], v[1]);
    next_line(e, loc);
  }
  for (int i = 0; i < 2; i++) {
    if (i > 0) {
      next_line(e, loc);
    }
    ct_emit_element(e, dst, lanes[i]);
    if (word == NULL) {
      ct_text_printf(&e->body, " = %s;", v[i]);
    } else if (i == 0) {
      ct_text_printf(&e->body, " = (%s)%s;", ct_dtypes[to].cuda, word);
    } else {
      ct_text_printf(&e->body, " = (%s)(%s >> %d);", ct_dtypes[to].cuda, word, ct_dtype_width(to));
    }
  }
}

void ct_emit_cast_elements(CtEmit *e, CtLoc loc, const CtEmitOperand *dst, const int64_t *dst_lanes,
                           const CtEmitOperand *src, const int64_t *src_lanes, int vec) {
  if (vec == 2) {
    const char *v[2];
    widen_two(e, loc, src, src_lanes, v);
    put_two(e, loc, dst, dst_lanes, v);
    return;
  }
  const char *v = cast_text(e, dst->buf->dtype, src->buf->dtype, element(e, src, src_lanes[0]));
  ct_emit_element(e, dst, dst_lanes[0]);
  ct_text_printf(&e->body, " = %s;", v);
}
