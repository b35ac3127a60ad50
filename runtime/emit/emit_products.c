/* emit_products.c: what all products of matrices share: the order of their multiply-adds as loops,
   and a single multiply-add. */
#include <inttypes.h>

#include "emit_tile.h"

CtEmitWord ct_emit_word(const CtAtom *atom, CtAtomOperand of) {
  static const CtEmitWord words[CT_DTYPE_COUNT] = {
      [CT_f64] = {"double", 'd'}, [CT_f32] = {"float", 'f'}, [CT_i32] = {"int", 'r'}};
  if (of == CT_ATOM_SFA || of == CT_ATOM_SFB) { /* the scales of one atom */
    static const char *const scales[] = {
        [1] = "unsigned char", [2] = "unsigned short", [4] = "unsigned"};
    return (CtEmitWord){scales[atom->vec], 'r'};
  }
  CtEmitWord word = words[ct_atom_dtype(atom, of)];
  return word.type != NULL ? word : (CtEmitWord){"unsigned", 'r'};
}

bool ct_emit_list_modes(CtEmit *e, CtLoc loc, CtLayout l, int first, const char *name,
                        CtEmitMatrix *out) {
  int rank = ct_layout_rank(l);
  bool fits = true;
  for (int i = 0; i < 2; i++) {
    out->mode[i].n = 0;
    out->size[i] = 1;
    if (fits && first + i < rank) {
      fits = ct_emit_list_leaves(ct_mode(l, first + i), true, &out->mode[i]);
      out->size[i] = fits ? ct_emit_leaves_size(&out->mode[i]) : 0;
    }
  }
  if (!fits) {
    ct_emit_fail(e, loc, CT_EUNSUPPORTED, "gemm: '%s' has more than %d modes", name,
                 CT_EMIT_MAX_MODES);
  }
  return fits;
}

void ct_emit_scale_modes(CtEmitMatrix *m, int64_t per) {
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < m->mode[i].n; j++) {
      m->mode[i].leaf[j].stride.d.v /= per;
    }
  }
}

CtEmitOperand ct_emit_at(const CtEmitOperand *op, const CtEmitMatrix *m, const char *row,
                         int64_t step, const char *column) {
  CtEmitOperand at = *op;
  ct_emit_add_split(&at, row, &m->mode[0], step);
  ct_emit_add_split(&at, column, &m->mode[1], 1);
  return at;
}

bool ct_emit_has_numbers(CtEmit *e, const CtInst *inst, const char *what) {
  if (e->ir->bufs[inst->u.tile->dst.buf].dtype != CT_bool) {
    return true;
  }
  ct_emit_fail(e, inst->loc, CT_EUNSUPPORTED, "%s: the elements of '%s' are bool; expected numbers",
               what, e->ir->bufs[inst->u.tile->dst.buf].name);
  return false;
}

/* c = a * b + c, rounded once; integers wrap around. a and b: an element each, or the name of a
   staged one. */
void ct_emit_fma(CtEmit *e, const CtEmitOperand *c, const CtEmitOperand *a,
                 const CtEmitOperand *b) {
  CtDtype type = c->buf->dtype;
  bool is_int = ct_is_int(type);
  ct_emit_element(e, c, 0);
  if (is_int) {
    ct_text_printf(&e->body, " = (%s)((%s)", ct_dtypes[type].cuda, ct_emit_unsigned(type));
  } else {
    ct_text_puts(&e->body, type == CT_f32 ? " = fmaf(" : " = fma(");
  }
  ct_emit_value(e, a, true);
  ct_text_puts(&e->body, is_int ? " * " : ", ");
  ct_emit_value(e, b, true);
  ct_text_puts(&e->body, is_int ? " + " : ", ");
  ct_emit_element(e, c, 0);
  ct_text_puts(&e->body, ");");
}

/* A row or column number, as the sum of what the loops over its mode counted; 0 if there is none. */
typedef struct Count {
  const char *var; /* of a loop without step, or NULL */
  CtText sum;
} Count;

/* Enters loop i over the `left` remaining rows or columns; adds its share to the count. Returns its
   variable, or NULL for a loop of one turn. */
static const char *enter_order(CtEmitNest *nest, const CtGemmLoop *loop, int64_t left,
                               const char *around, bool is_rolled, Count *count) {
  bool returns = loop->turns && around != NULL;
  bool whole = loop->step == 1 && !returns && count->sum.len == 0;
  int64_t turns = (left + loop->step - 1) / loop->step;
  char name = whole ? (loop->mode == 0 ? 'm' : 'n') : around == NULL ? 'p' : 'i';
  const char *var =
      ct_emit_enter_loop(nest, name, ct_int(turns), 1, is_rolled ? CT_UNROLL_NO : CT_UNROLL_ALL);
  if (whole || var == NULL) {
    count->var = var;
    return var;
  }
  ct_text_puts(&count->sum, count->sum.len == 0 ? "" : " + ");
  if (returns) {
    ct_text_printf(&count->sum, "(%s %% 2 == 0 ? %s : %" PRId64 " - %s)", around, var, turns - 1,
                   var);
  } else {
    ct_text_puts(&count->sum, var);
  }
  if (loop->step > 1) {
    ct_text_printf(&count->sum, " * %d", loop->step);
  }
  return var;
}

/* The row or column: the loop's variable itself, or a new one for the sum. */
static const char *name_count(const CtEmitProducts *w, Count *count, const char *wanted) {
  if (count->var == NULL && count->sum.len > 0) {
    count->var = ct_names_add(&w->e->names, wanted);
    ct_emit_line(w->e, w->loc, "const int %s = %s;", count->var, ct_text_str(&count->sum));
  }
  return count->var;
}

/* If a step does not divide the rows or columns, skips those that lie outside. */
static void skip_outside(const CtEmitProducts *w, const char *var, int64_t size,
                         int64_t first_step) {
  if (var != NULL && size % first_step != 0) {
    ct_emit_line(w->e, w->loc, "if (%s >= %" PRId64 ") continue;", var, size);
  }
}

void ct_emit_products(const CtEmitProducts *w, const CtGemmOrder *order, CtEmitNest *nest,
                      const char *k) {
  int64_t left[2] = {w->m, w->n}, first[2] = {0, 0};
  Count count[2] = {{0}, {0}};
  const char *around = NULL;
  for (int i = 0; i < 2; i++) {
    ct_text_init(&count[i].sum, w->e->ir->arena.alloc);
  }
  for (int i = 0; i < order->n; i++) {
    const CtGemmLoop *loop = &order->loop[i];
    int x = loop->mode;
    around = enter_order(nest, loop, left[x], around, w->is_rolled, &count[x]);
    first[x] = first[x] == 0 ? loop->step : first[x];
    left[x] = loop->step;
  }
  CT_ASSERT(first[0] > 0 && first[1] > 0); /* there is a loop over each */
  const char *m = name_count(w, &count[0], "m");
  const char *n = name_count(w, &count[1], "n");
  skip_outside(w, m, w->m, first[0]);
  skip_outside(w, n, w->n, first[1]);
  w->multiply(w->ud, m, n, k);
  for (int i = 0; i < 2; i++) {
    ct_text_clear(&count[i].sum);
  }
}
