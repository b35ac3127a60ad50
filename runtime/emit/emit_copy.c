/* emit_copy.c: copies between tensors: by elements, by vectors, by the words of fragments, and by
   cp.async. */
#include <string.h>

#include "emit_each.h"

/* cp.async of 4, 8 and 16 bytes, for plain copies and for atoms; without and with a condition. They
   take no policy of L2: ptxas 13.0 makes copies of it that stop an H200 with an illegal instruction. */
#define ASYNC(NAME)                                                                                \
  { CT_HELP_##NAME, CT_HELP_##NAME##_ZFILL }
static const CtHelper plain_asyncs[][2] = {ASYNC(CP_ASYNC_4), ASYNC(CP_ASYNC_8),
                                           ASYNC(CP_ASYNC_16)};
static const CtHelper atom_asyncs[][2] = {ASYNC(CP_ASYNC_CA_4), ASYNC(CP_ASYNC_CA_8),
                                          ASYNC(CP_ASYNC_CG_16), ASYNC(CP_ASYNC_CA_16)};

/* when: if it is false, zeros are written; NULL: always copy. */
static void put_async(CtEmit *e, const CtEmitEach *each, const char *when) {
  const CtAtom *atom = each->inst->u.tile->atom;
  int64_t bytes = ct_buf_bytes(each->op[CT_EACH_DST].buf, each->vec);
  bool is_ca = atom != NULL && strstr(atom->ptx, ".ca.") != NULL;
  int i = bytes == 4 ? 0 : bytes == 8 ? 1 : is_ca ? 3 : 2;
  CtHelper async = (atom != NULL ? atom_asyncs : plain_asyncs)[i][when != NULL];
  ct_text_printf(&e->body, "%s(", ct_emit_help(e, async));
  ct_emit_address(e, &each->op[CT_EACH_DST]);
  ct_text_puts(&e->body, ", ");
  ct_emit_address(e, &each->op[CT_EACH_SRC]);
  if (when != NULL) {
    ct_text_printf(&e->body, ", %s", when);
  }
  ct_text_puts(&e->body, ");");
}

/* Are lanes j to j + n - 1 of a fragment one of its 32-bit words, whatever values the loop
   variables have? */
static bool is_word(const CtEmit *e, const CtEmitEach *each, int part, int j, int n) {
  const CtEmitOperand *op = &each->op[part];
  const int64_t *lane = &each->lane[part][j];
  bool whole = op->buf->has_words && op->when == NULL && n > 1 &&
               n * ct_dtype_width(op->buf->dtype) == 32 && (op->plus + lane[0]) % n == 0 &&
               (op->index == 0 || ct_inst(e->ir, op->index)->facts.div % n == 0);
  for (int i = 0; i < op->n; i++) {
    whole = whole && ct_is_static(op->term[i].stride.d) && op->term[i].stride.d.v % n == 0;
  }
  for (int i = 1; i < n; i++) {
    whole = whole && lane[i] == lane[0] + i;
  }
  return whole;
}

static void put_word_of(CtEmit *e, const CtEmitOperand *op, int64_t lane, bool is_read) {
  CtEmitOperand at = *op;
  at.plus += lane;
  ct_text_printf(&e->body, "*reinterpret_cast<%sunsigned*>(", is_read ? "const " : "");
  ct_emit_address(e, &at);
  ct_text_putc(&e->body, ')');
}

/* A vector's elements to registers, those from `first` on; into words if a fragment has words: NVRTC does not see that
   two halves make up the word they came from. */
static void take_apart(CtEmit *e, const CtEmitEach *each, const char *v, int first, int vec) {
  CtDtype type = each->op[CT_EACH_SRC].buf->dtype;
  int per_word = ct_dtype_width(type) < 32 ? 32 / ct_dtype_width(type) : 1, step = 1;
  for (int j = 0; j < vec; j += step) {
    const int64_t *lane = &each->lane[CT_EACH_DST][first + j];
    ct_emit_end(e);
    ct_emit_begin(e, each->inst->loc);
    step = j + per_word <= vec && is_word(e, each, CT_EACH_DST, first + j, per_word) ? per_word : 1;
    if (step > 1) {
      put_word_of(e, &each->op[CT_EACH_DST], *lane, false);
      ct_text_printf(&e->body, " = %s", v);
      if (vec > per_word) {
        ct_text_printf(&e->body, ".%c", "xyzw"[j / per_word]);
      }
    } else {
      ct_emit_element(e, &each->op[CT_EACH_DST], *lane);
      ct_text_puts(&e->body, " = ");
      ct_emit_lane(e, type, vec, v, j);
    }
    ct_text_putc(&e->body, ';');
  }
}

/* Registers from a vector: read it into a local, then take that apart. */
static void unpack(CtEmit *e, const CtEmitEach *each) {
  const char *v = ct_names_add(&e->names, "v");
  ct_text_printf(&e->body,
                 "const %s %s = ", ct_emit_vector_type(each->op[CT_EACH_SRC].buf->dtype, each->vec),
                 v);
  ct_emit_vector_value(e, &each->op[CT_EACH_SRC], each->vec);
  ct_text_putc(&e->body, ';');
  take_apart(e, each, v, 0, each->vec);
}

/* The same of 32 bytes, which have no vector type: two vectors of 16. */
static void unpack_wide(CtEmit *e, const CtEmitEach *each) {
  const CtEmitOperand *src = &each->op[CT_EACH_SRC];
  const char *lo = ct_names_add(&e->names, "lo"), *hi = ct_names_add(&e->names, "hi");
  const int half = each->vec / 2;
  const char *zero = src->when != NULL ? "{}" : "";
  ct_text_printf(&e->body, "%s %s%s, %s%s;", ct_emit_vector_type(src->buf->dtype, half), lo, zero,
                 hi, zero);
  ct_emit_end(e);
  ct_emit_begin(e, each->inst->loc);
  if (src->when != NULL) { /* zeros outside */
    ct_text_printf(&e->body, "if (%s) ", src->when);
  }
  ct_text_printf(&e->body, "%s(", ct_emit_help(e, CT_HELP_LOAD_256));
  ct_emit_address(e, src);
  ct_text_printf(&e->body, ", %s, %s);", lo, hi);
  take_apart(e, each, lo, 0, half);
  take_apart(e, each, hi, half, half);
}

/* A lane of a vector that is in registers; it may be guarded. */
static void put_lane(CtEmit *e, const CtEmitOperand *op, int64_t lane) {
  CtEmitOperand at = *op;
  at.plus += lane;
  ct_emit_value(e, &at, false);
}

/* Elements j to j + n - 1 as one number. */
static void put_word(CtEmit *e, const CtEmitEach *each, int j, int n) {
  CtDtype type = each->op[CT_EACH_SRC].buf->dtype;
  if (is_word(e, each, CT_EACH_SRC, j, n)) {
    put_word_of(e, &each->op[CT_EACH_SRC], each->lane[CT_EACH_SRC][j], true);
    return;
  }
  CtHelper packer = ct_dtype_width(type) == 16 ? CT_HELP_PACK_2X16
                    : n == 2                   ? CT_HELP_PACK_2X8
                                               : CT_HELP_PACK_4X8;
  ct_text_printf(&e->body, "%s(", ct_emit_help(e, packer));
  for (int i = 0; i < n; i++) {
    ct_text_puts(&e->body, i > 0 ? ", " : "");
    put_lane(e, &each->op[CT_EACH_SRC], each->lane[CT_EACH_SRC][j + i]);
  }
  ct_text_putc(&e->body, ')');
}

/* A vector of the registers from element `first` on. */
static void put_together(CtEmit *e, const CtEmitEach *each, int first, int vec) {
  CtDtype type = each->op[CT_EACH_DST].buf->dtype;
  int per_word = ct_dtype_width(type) < 32 ? 32 / ct_dtype_width(type) : 1;
  if (per_word >= vec) {
    put_word(e, each, first, vec);
    return;
  }
  ct_text_printf(&e->body, "make_%s(", ct_emit_vector_type(type, vec));
  for (int j = first; j < first + vec; j += per_word) {
    ct_text_puts(&e->body, j > first ? ", " : "");
    if (per_word == 1) {
      put_lane(e, &each->op[CT_EACH_SRC], each->lane[CT_EACH_SRC][j]);
    } else {
      put_word(e, each, j, per_word);
    }
  }
  ct_text_putc(&e->body, ')');
}

static void pack(CtEmit *e, const CtEmitEach *each) {
  const char *end = ct_emit_begin_store(e, &each->op[CT_EACH_DST], each->vec);
  put_together(e, each, 0, each->vec);
  ct_text_puts(&e->body, end);
}

/* Of 32 bytes, as two vectors of 16. */
static void pack_wide(CtEmit *e, const CtEmitEach *each) {
  const int half = each->vec / 2;
  ct_text_printf(&e->body, "%s(", ct_emit_help(e, CT_HELP_STORE_256));
  ct_emit_address(e, &each->op[CT_EACH_DST]);
  for (int i = 0; i < 2; i++) {
    ct_text_puts(&e->body, ", ");
    put_together(e, each, i * half, half);
  }
  ct_text_puts(&e->body, ");");
}

static void copy_elements(CtEmit *e, const CtEmitEach *each) {
  const char *end = ct_emit_begin_store(e, &each->op[CT_EACH_DST], each->vec);
  if (each->vec > 1) {
    ct_emit_vector_value(e, &each->op[CT_EACH_SRC], each->vec);
  } else {
    bool widens = each->op[CT_EACH_DST].buf->dtype != each->op[CT_EACH_SRC].buf->dtype;
    ct_emit_value(e, &each->op[CT_EACH_SRC], widens);
  }
  ct_text_puts(&e->body, end);
}

static void cast_body(CtEmit *e, const CtEmitEach *each) {
  ct_emit_begin(e, each->inst->loc);
  ct_emit_cast_elements(e, each->inst->loc, &each->op[CT_EACH_DST], each->lane[CT_EACH_DST],
                        &each->op[CT_EACH_SRC], each->lane[CT_EACH_SRC], each->vec);
  ct_emit_end(e);
}

/* From registers to registers, by words if both sides have them. */
static void move_body(CtEmit *e, const CtEmitEach *each) {
  bool by_word =
      is_word(e, each, CT_EACH_DST, 0, each->vec) && is_word(e, each, CT_EACH_SRC, 0, each->vec);
  for (int j = 0; j < each->vec; j += by_word ? each->vec : 1) {
    ct_emit_begin(e, each->inst->loc);
    if (by_word) {
      put_word_of(e, &each->op[CT_EACH_DST], each->lane[CT_EACH_DST][0], false);
      ct_text_puts(&e->body, " = ");
      put_word_of(e, &each->op[CT_EACH_SRC], each->lane[CT_EACH_SRC][0], true);
    } else {
      ct_emit_element(e, &each->op[CT_EACH_DST], each->lane[CT_EACH_DST][j]);
      ct_text_puts(&e->body, " = ");
      ct_emit_element(e, &each->op[CT_EACH_SRC], each->lane[CT_EACH_SRC][j]);
    }
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
  }
}

/* For copy_if: whether the element, or the vector, is copied. */
static const char *predicate(CtEmit *e, const CtEmitEach *each) {
  size_t mark = e->body.len;
  ct_emit_value(e, &each->op[CT_EACH_SRC_B], false);
  return ct_emit_cut(e, mark);
}

enum { WIDE_BYTES = 32 };

static void copy_body(CtEmit *e, const CtEmitEach *each) {
  const CtTile *t = each->inst->u.tile;
  int64_t bytes = ct_buf_bytes(each->op[CT_EACH_DST].buf, each->vec);
  CtEmitNest nest = {.e = e, .loc = each->inst->loc};
  const char *chosen = each->n_views == 3 ? predicate(e, each) : NULL;
  if (t->atom != NULL && each->vec != t->vec) {
    ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                 "copy: the shapes of '%s' and '%s' split "
                 "the elements that %s copies at once; give both tensors the same modes",
                 each->op[CT_EACH_SRC].base, each->op[CT_EACH_DST].base, t->atom->name);
  }
  ct_emit_enter_when(&nest, t->zero_fill ? NULL : chosen);
  ct_emit_begin(e, each->inst->loc);
  if (t->async && bytes >= 4) {
    put_async(e, each,
              t->zero_fill ? ct_emit_and(e, chosen, each->op[CT_EACH_SRC].when)
                           : each->op[CT_EACH_SRC].when);
  } else if (bytes == WIDE_BYTES) { /* only atoms take as many */
    (ct_emit_is_register(&each->op[CT_EACH_DST]) ? unpack_wide : pack_wide)(e, each);
  } else if (each->vec > 1 && ct_emit_is_register(&each->op[CT_EACH_DST])) {
    unpack(e, each);
  } else if (each->vec > 1 && ct_emit_is_register(&each->op[CT_EACH_SRC])) {
    pack(e, each);
  } else {
    copy_elements(e, each);
  }
  ct_emit_end(e);
  ct_emit_leave_all(&nest);
}

void ct_emit_copy(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  const CtEmitViews views = {.what = "copy",
                             .inst = inst,
                             .is_early = ct_emit_is_early(e, v),
                             .n = t->b.buf != 0 ? 3 : 2,
                             .view = {&t->dst, &t->a, &t->b}};
  const CtBuf *to = &e->ir->bufs[t->dst.buf], *from = &e->ir->bufs[t->a.buf];
  bool in_registers = to->space == CT_REGISTER && from->space == CT_REGISTER && views.n == 2 &&
                      t->dst.guard == NULL && t->a.guard == NULL;
  if (to->dtype != from->dtype && in_registers) {
    ct_emit_each(e, &views, ct_emit_cast_width(e, to->dtype, from->dtype), cast_body);
    return;
  }
  if (in_registers && t->atom == NULL && to->has_words && from->has_words &&
      ct_dtype_width(to->dtype) < 32) {
    ct_emit_each(e, &views, 32 / ct_dtype_width(to->dtype), move_body);
    return;
  }
  ct_emit_each(e, &views, t->vec, copy_body);
  if (views.is_early && ct_emit_ends_early(e, v)) {
    ct_emit_line(e, inst->loc, "__syncwarp();");
  }
}
