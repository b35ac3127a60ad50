/* emit_access.c: elements of views as C, and loops over static and run-time extents. */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"
#include "runtime/layout/tuple_leaves.h"

/* --- layouts -------------------------------------------------------------------------------------- */

CtEmitStride ct_emit_times(CtEmitStride s, int64_t by) {
  if (ct_is_static(s.d)) {
    s.d.v *= by;
  } else {
    s.times *= by;
  }
  return s;
}

bool ct_emit_continues(CtInt n, CtEmitStride s, CtEmitStride next) {
  if (!ct_is_static(n)) {
    return false;
  }
  CtEmitStride end = ct_emit_times(s, n.v);
  return ct_int_equal(end.d, next.d) && end.times == next.times;
}

bool ct_emit_list_leaves(CtLayout l, bool coalesce, CtEmitLeaves *out) {
  out->n = 0;
  for (CtLeaves w = ct_leaves(l.shape, l.stride); ct_next_leaf(&w);) {
    CtEmitLeaf leaf = {w.shape->i, {w.stride->i, 1}};
    if (ct_is_const(leaf.extent, 1)) {
      continue;
    }
    CtEmitLeaf *last = out->n > 0 ? &out->leaf[out->n - 1] : NULL;
    if (coalesce && last != NULL && ct_is_static(leaf.extent) &&
        ct_emit_continues(last->extent, last->stride, leaf.stride)) {
      last->extent.v *= leaf.extent.v;
    } else if (out->n == CT_EMIT_MAX_MODES) {
      return false;
    } else {
      out->leaf[out->n++] = leaf;
    }
  }
  return true;
}

int64_t ct_emit_leaves_size(const CtEmitLeaves *l) {
  int64_t n = 1;
  for (int i = 0; i < l->n; i++) {
    n *= l->leaf[i].extent.v;
  }
  return n;
}

/* --- operands -------------------------------------------------------------------------------------- */

bool ct_emit_is_far(CtLayout l) {
  int64_t reach = 0;
  for (CtLeaves w = ct_leaves(l.shape, l.stride); ct_next_leaf(&w);) {
    CtInt n = w.shape->i, d = w.stride->i;
    int64_t part;
    if (ct_is_static(n) && ct_is_static(d) &&
        (ct_mul_overflow(n.v - 1, d.v, &part) || part == INT64_MIN ||
         ct_add_overflow(reach, part < 0 ? -part : part, &reach))) {
      return true;
    }
  }
  return reach > INT32_MAX;
}

CtEmitOperand ct_emit_operand(const CtEmit *e, const CtView *view) {
  CtEmitOperand op = {.buf = &e->ir->bufs[view->buf],
                      .base = e->buf_names[view->buf],
                      .swizzle = e->ir->bufs[view->buf].swizzle};
  CtVal v = ct_emit_split_offset(e->ir, view->offset, &op.plus);
  const CtEmitPtr *p = v == 0 ? NULL : ct_emit_find_ptr(e, view->buf, v);
  if (p != NULL) {
    op.base = p->name;
  } else {
    op.index = v;
  }
  op.is_wide = ct_emit_is_far(view->layout);
  return op;
}

void ct_emit_add_term(CtEmitOperand *op, CtEmitTerm term) {
  if (term.var != NULL && op->n < 2 * CT_EMIT_MAX_MODES && !ct_emit_is_stride(term.stride, 0)) {
    op->term[op->n++] = term;
  }
}

void ct_emit_add_split(CtEmitOperand *op, const char *var, const CtEmitLeaves *l, int64_t step) {
  int64_t div = 1;
  for (int i = 0; i < l->n && var != NULL; i++) {
    int64_t extent = l->leaf[i].extent.v;
    if (i > 0 || extent != step || l->n == 1) { /* else the digit is always 0 */
      ct_emit_add_term(
          op, (CtEmitTerm){var, div, i + 1 < l->n ? extent : 0, extent, l->leaf[i].stride});
    }
    div *= extent;
  }
}

CtEmitOperand ct_emit_atom_operand(CtEmit *e, CtLoc loc, const CtView *view, const char *var) {
  CtEmitOperand op = ct_emit_operand(e, view);
  CtEmitLeaves l;
  if (!ct_emit_list_leaves(ct_mode(view->layout, 1), true, &l)) {
    ct_emit_fail(e, loc, CT_EUNSUPPORTED, "copy: '%s' has too many modes", op.base);
  } else if (var != NULL) {
    ct_emit_add_split(&op, var, &l, 1);
  }
  return op;
}

int64_t ct_emit_n_atoms(const CtView *view) {
  CtEmitLeaves l;
  (void)ct_emit_list_leaves(ct_mode(view->layout, 1), true, &l);
  return ct_emit_leaves_size(&l);
}

static void put_stride(CtEmit *e, const CtEmitOperand *op, CtEmitStride s) {
  if (!ct_is_static(s.d)) {
    if (s.times != 1) {
      ct_text_printf(&e->body, " * %" PRId64, s.times);
    }
    ct_text_puts(&e->body, " * ");
    ct_emit_expr(e, s.d.id, CT_PREC_UNARY);
  } else if (s.d.v != 1) {
    ct_text_puts(&e->body, " * ");
    ct_emit_int(e, op->is_wide ? CT_i64 : CT_i32, s.d.v);
  }
}

static void put_term(CtEmit *e, const CtEmitOperand *op, const CtEmitTerm *t) {
  ct_text_puts(&e->body, t->var);
  if (t->div != 1) {
    ct_text_printf(&e->body, " / %" PRId64, t->div);
  }
  if (t->mod != 0) {
    ct_text_printf(&e->body, " %% %" PRId64, t->mod);
  }
  put_stride(e, op, t->stride);
}

bool ct_emit_sum(CtEmit *e, const CtEmitOperand *op, int64_t extra, const char *lead) {
  int64_t plus = op->plus + extra;
  const char *sep = lead;
  if (op->index != 0) {
    ct_text_puts(&e->body, sep);
    ct_emit_expr(e, op->index, CT_PREC_ADD);
    sep = " + ";
  }
  for (int i = 0; i < op->n; i++) {
    ct_text_puts(&e->body, sep);
    put_term(e, op, &op->term[i]);
    sep = " + ";
  }
  if (plus != 0) {
    bool minus = plus < 0 && sep != lead;
    ct_text_puts(&e->body, minus ? " - " : sep);
    ct_emit_int(e, op->is_wide ? CT_i64 : CT_i32, minus ? -plus : plus);
    sep = " + ";
  }
  return sep != lead;
}

/* The offset from the base. */
static bool put_offset(CtEmit *e, const CtEmitOperand *op, int64_t extra, const char *lead) {
  return (op->swizzle.bits != 0 ? ct_emit_swizzled : ct_emit_sum)(e, op, extra, lead);
}

void ct_emit_element(CtEmit *e, const CtEmitOperand *op, int64_t extra) {
  ct_text_printf(&e->body, "%s[", op->base);
  if (!put_offset(e, op, extra, "")) {
    ct_text_putc(&e->body, '0');
  }
  ct_text_putc(&e->body, ']');
}

void ct_emit_read_element(CtEmit *e, const CtEmitOperand *op, int64_t extra) {
  const char *load = ct_emit_loader(e, op->buf);
  if (load != NULL) {
    ct_text_printf(&e->body, "%s(&", load);
  }
  ct_emit_element(e, op, extra);
  ct_text_puts(&e->body, load != NULL ? ")" : "");
}

void ct_emit_wide_element(CtEmit *e, const CtEmitOperand *op, int64_t extra) {
  CtDtype type = op->buf->dtype;
  CtEmitWrap w = op->is_widened || !ct_is_float(type)
                     ? (CtEmitWrap){.close = ""} /* C widens integers by itself */
                     : ct_emit_wrap(e, ct_dtype_compute(type), type);
  ct_text_puts(&e->body, w.open);
  ct_emit_read_element(e, op, extra);
  ct_text_puts(&e->body, w.close);
}

void ct_emit_coordinate(CtEmit *e, const CtEmitOperand *op) {
  if (!put_offset(e, op, 0, "")) {
    ct_text_putc(&e->body, '0');
  }
}

void ct_emit_address(CtEmit *e, const CtEmitOperand *op) {
  ct_text_puts(&e->body, op->base);
  put_offset(e, op, 0, " + ");
}

/* --- vectors ---------------------------------------------------------------------------------------- */

const char *ct_emit_vector_type(CtDtype type, int vec) {
  static const char *const own[CT_DTYPE_COUNT][2] = {
      [CT_f64] = {"double2"},           [CT_f32] = {"float2", "float4"},
      [CT_tf32] = {"float2", "float4"}, [CT_i32] = {"int2", "int4"},
      [CT_i64] = {"longlong2"},         [CT_u64] = {"ulonglong2"}};
  static const char *const by_bytes[] = {
      [2] = "unsigned short", [4] = "unsigned", [8] = "uint2", [16] = "uint4"};
  const char *name = own[type][vec == 4];
  return name != NULL ? name : by_bytes[ct_dense_bytes(type, (size_t)vec)];
}

void ct_emit_lane(CtEmit *e, CtDtype type, int vec, const char *v, int j) {
  int bits = ct_dtype_width(type);
  if (bits >= 32) {
    ct_text_printf(&e->body, "%s.%c", v, "xyzw"[j]);
    return;
  }
  /* A cast to an integer cuts off what is left of the neighbours; a bool of them would be true. */
  bool has_words = vec * bits > 32, is_cut = type == CT_bool;
  int word = j * bits / 32, shift = j * bits % 32;
  ct_text_printf(&e->body, "(%s)%s%s", ct_dtypes[type].cuda, shift != 0 || is_cut ? "(" : "", v);
  if (has_words) {
    ct_text_printf(&e->body, ".%c", "xyzw"[word]);
  }
  if (shift != 0) {
    ct_text_printf(&e->body, " >> %d", shift);
  }
  ct_text_puts(&e->body, is_cut ? " & 255)" : shift != 0 ? ")" : "");
}

void ct_emit_vector(CtEmit *e, const CtEmitOperand *op, int vec, bool is_read) {
  const char *load = is_read ? ct_emit_loader(e, op->buf) : NULL;
  if (load == NULL && is_read && op->is_early) {
    load = ct_emit_help(e, CT_HELP_LOAD_EARLY);
  }
  ct_text_printf(&e->body, "%s%sreinterpret_cast<%s%s*>(", load != NULL ? load : "*",
                 load != NULL ? "(" : "", is_read ? "const " : "",
                 ct_emit_vector_type(op->buf->dtype, vec));
  ct_emit_address(e, op);
  ct_text_puts(&e->body, load != NULL ? "))" : ")");
}

const char *ct_emit_begin_store(CtEmit *e, const CtEmitOperand *op, int vec) {
  const char *store = ct_emit_storer(e, op->buf);
  if (store == NULL && vec > 1) {
    ct_emit_vector(e, op, vec, false);
  } else if (store == NULL) {
    ct_emit_element(e, op, 0);
  } else if (vec > 1) {
    ct_text_printf(&e->body, "%s(reinterpret_cast<%s*>(", store,
                   ct_emit_vector_type(op->buf->dtype, vec));
    ct_emit_address(e, op);
    ct_text_putc(&e->body, ')');
  } else {
    ct_text_printf(&e->body, "%s(&", store);
    ct_emit_element(e, op, 0);
  }
  ct_text_puts(&e->body, store == NULL ? " = " : ", ");
  return store == NULL ? ";" : ");";
}

const char *ct_emit_unsigned(CtDtype type) {
  return ct_dtypes[type].bits == 32 ? "unsigned" : "unsigned long long";
}

/* The compiler forwards what is stored in arrays to where it is read. So some that are larger than the 1020 bytes of a
   thread's registers do not cost any memory, and unrolling them pays. */
bool ct_emit_is_large(const CtEmitOperand *op) {
  enum { MOST_BYTES = 4096 };
  return ct_emit_is_register(op) && ct_buf_bytes(op->buf, op->buf->n_elems.v) > MOST_BYTES;
}

/* --- loops ------------------------------------------------------------------------------------------ */

static void put_unroll(CtEmitNest *nest, int unroll) {
  if (unroll == CT_UNROLL_ALL) {
    ct_emit_line(nest->e, nest->loc, "#pragma unroll");
  } else if (unroll != CT_UNROLL_NO) {
    ct_emit_line(nest->e, nest->loc, "#pragma unroll %d", unroll);
  }
}

void ct_emit_enter_scope(CtEmitNest *nest) {
  nest->mark[nest->n++] = ct_names_mark(&nest->e->names);
  ct_emit_open(nest->e);
}

/* "i", or "ii" inside a loop over i. */
static const char *name_index(CtEmit *e, char letter) {
  const char text[] = {
      letter, ct_names_is_taken(&e->names, (const char[]){letter, '\0'}) ? letter : '\0', '\0'};
  return ct_names_add(&e->names, text);
}

const char *ct_emit_enter_loop(CtEmitNest *nest, char wanted, CtInt extent, int step, int unroll) {
  CtEmit *e = nest->e;
  if (ct_is_static(extent) && extent.v > 0 && extent.v <= step) {
    return NULL;
  }
  bool is_wide =
      ct_is_static(extent) ? extent.v > INT32_MAX : ct_inst(e->ir, extent.id)->type == CT_i64;
  put_unroll(nest, unroll);
  ct_emit_begin(e, nest->loc);
  nest->mark[nest->n++] = ct_names_mark(&e->names);
  const char *var = name_index(e, wanted);
  ct_text_printf(&e->body, "for (%s %s = 0; %s < ", is_wide ? "long long" : "int", var, var);
  if (ct_is_static(extent)) {
    ct_emit_int(e, CT_i32, extent.v);
  } else {
    ct_emit_expr(e, extent.id, CT_PREC_SHIFT);
  }
  if (step == 1) {
    ct_text_printf(&e->body, "; %s++) {", var);
  } else {
    ct_text_printf(&e->body, "; %s += %d) {", var, step);
  }
  ct_emit_end(e);
  ct_emit_open(e);
  return var;
}

void ct_emit_leave(CtEmitNest *nest) { ct_emit_close(nest->e, nest->mark[--nest->n]); }

void ct_emit_leave_all(CtEmitNest *nest) {
  while (nest->n > 0) {
    ct_emit_leave(nest);
  }
}
