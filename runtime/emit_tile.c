/* emit_tile.c: operations on whole tensors as loops that the compiler unrolls.

   The views of an elementwise operation have the same size but may have different shapes: element i,
   counted colexicographically, belongs to element i. Where the shapes have a common refinement, each
   of its modes is one loop; else one loop counts the elements and each view splits the number. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"

enum {
  MAX_MODES = 32,
  MAX_VIEWS = 3,
  MAX_VEC = 16,
  MAX_UNROLLED = 64,   /* iterations without registers: more do not pay */
  MAX_FMAS = 8192,     /* of a gemm that is unrolled entirely */
  GEMM_BODY_FMAS = 2048 /* of one that is not, in one iteration */
};

/* d * times; of a static one, d has it all. */
typedef struct Stride {
  CtInt d;
  int64_t times;
} Stride;

typedef struct Leaf {
  CtInt extent;
  Stride stride;
} Leaf;

typedef struct Leaves {
  int n;
  Leaf leaf[MAX_MODES];
} Leaves;

/* var / div % mod * stride; mod 0: not reduced. */
typedef struct Term {
  const char *var;
  int64_t div, mod;
  Stride stride;
} Term;

/* How elements of a view are written: base[index + terms + plus]. */
typedef struct Operand {
  const CtBuf *buf;
  const char *base;
  CtVal index;
  int64_t plus;
  bool is_wide; /* offsets may not fit int */
  int n;
  Term term[2 * MAX_MODES];
} Operand;

/* A loop over the elements of some views. */
typedef struct Each {
  const char *what;
  const CtInst *inst;
  int n_views;
  const CtView *view[MAX_VIEWS];
  Operand op[MAX_VIEWS];
  int vec;
  int64_t lane[MAX_VIEWS][MAX_VEC]; /* offsets of the elements of a vector */
  int n_modes; /* the common refinement */
  CtInt extent[MAX_MODES];
  Stride stride[MAX_VIEWS][MAX_MODES];
} Each;

/* --- layouts -------------------------------------------------------------------------------------- */

static Stride times(Stride s, int64_t by) {
  if (ct_is_static(s.d)) {
    s.d.v *= by;
  } else {
    s.times *= by;
  }
  return s;
}

static bool is_stride(Stride s, int64_t v) { return ct_is_const(s.d, v); }

/* Does a mode of stride `next` go on where one of extent n and stride s ends? */
static bool continues(CtInt n, Stride s, Stride next) {
  if (!ct_is_static(n)) {
    return false;
  }
  Stride end = times(s, n.v);
  return ct_int_equal(end.d, next.d) && end.times == next.times;
}

/* The leaves of a layout but for those of extent 1; merged where `coalesce`. False when too many. */
static bool list_leaves(CtLayout l, bool coalesce, Leaves *out) {
  out->n = 0;
  for (uint32_t i = 0; i < l.shape->len; i++) {
    Leaf leaf = {l.shape[i].i, {l.stride[i].i, 1}};
    if (!ct_is_leaf(&l.shape[i]) || ct_is_const(leaf.extent, 1)) {
      continue;
    }
    Leaf *last = out->n > 0 ? &out->leaf[out->n - 1] : NULL;
    if (coalesce && last != NULL && ct_is_static(leaf.extent) &&
        continues(last->extent, last->stride, leaf.stride)) {
      last->extent.v *= leaf.extent.v;
    } else if (out->n == MAX_MODES) {
      return false;
    } else {
      out->leaf[out->n++] = leaf;
    }
  }
  return true;
}

static int64_t leaves_size(const Leaves *l) { /* static ones */
  int64_t n = 1;
  for (int i = 0; i < l->n; i++) {
    n *= l->leaf[i].extent.v;
  }
  return n;
}

static bool is_all_static(CtLayout l) { return ct_all_static(l.shape); }

/* --- operands -------------------------------------------------------------------------------------- */

static bool is_register(const Operand *op) { return op->buf->space == CT_REGISTER; }

/* May offsets of static modes be too large for int? */
static bool needs_64_bits(CtLayout l) {
  int64_t reach = 0;
  for (uint32_t i = 0; i < l.shape->len; i++) {
    if (ct_is_leaf(&l.shape[i]) && ct_is_static(l.shape[i].i) && ct_is_static(l.stride[i].i)) {
      int64_t part;
      if (ct_mul_overflow(l.shape[i].i.v - 1, l.stride[i].i.v, &part) || part == INT64_MIN ||
          ct_add_overflow(reach, part < 0 ? -part : part, &reach)) {
        return true;
      }
    }
  }
  return reach > INT32_MAX;
}

static Operand operand_of(const CtEmit *e, const CtView *view) {
  Operand op = {.buf = &e->ir->bufs[view->buf], .base = e->buf_names[view->buf]};
  CtVal v = ct_emit_split_offset(e->ir, view->offset, &op.plus);
  const CtEmitPtr *p = v == 0 ? NULL : ct_emit_find_ptr(e, view->buf, v);
  if (p != NULL) {
    op.base = p->name;
  } else {
    op.index = v;
  }
  op.is_wide = needs_64_bits(view->layout);
  return op;
}

static void add_term(Operand *op, const char *var, int64_t div, int64_t mod, Stride stride) {
  if (op->n < 2 * MAX_MODES && !is_stride(stride, 0)) {
    op->term[op->n++] = (Term){var, div, mod, stride};
  }
}

/* Terms for the static leaves of a mode whose flat coordinate is `var`, a multiple of `step`. */
static void add_split(Operand *op, const char *var, const Leaves *l, int64_t step) {
  int64_t div = 1;
  for (int i = 0; i < l->n; i++) {
    int64_t extent = l->leaf[i].extent.v;
    if (i > 0 || extent != step || l->n == 1) { /* else the digit is always 0 */
      add_term(op, var, div, i + 1 < l->n ? extent : 0, l->leaf[i].stride);
    }
    div *= extent;
  }
}

static void put_stride(CtEmit *e, const Operand *op, Stride s) {
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

static void put_term(CtEmit *e, const Operand *op, const Term *t) {
  ct_text_puts(&e->body, t->var);
  if (t->div != 1) {
    ct_text_printf(&e->body, " / %" PRId64, t->div);
  }
  if (t->mod != 0) {
    ct_text_printf(&e->body, " %% %" PRId64, t->mod);
  }
  put_stride(e, op, t->stride);
}

/* The offset from the base, led in by `lead` where there is any; false when it is 0. */
static bool put_offset(CtEmit *e, const Operand *op, int64_t extra, const char *lead) {
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

static void put_element(CtEmit *e, const Operand *op, int64_t extra) {
  ct_text_printf(&e->body, "%s[", op->base);
  if (!put_offset(e, op, extra, "")) {
    ct_text_putc(&e->body, '0');
  }
  ct_text_putc(&e->body, ']');
}

static void put_address(CtEmit *e, const Operand *op) {
  ct_text_puts(&e->body, op->base);
  put_offset(e, op, 0, " + ");
}

/* --- vectors ---------------------------------------------------------------------------------------- */

/* The CUDA type of `vec` elements; for bool, of as many bytes. */
static const char *vector_type(CtDtype type, int vec) {
  static const char *const by_bytes[] = {[2] = "unsigned short", [4] = "unsigned", [8] = "uint2",
                                         [16] = "uint4"};
  switch (type) {
    case CT_f32: return vec == 2 ? "float2" : "float4";
    case CT_f64: return "double2";
    case CT_i32: return vec == 2 ? "int2" : "int4";
    case CT_i64: return "longlong2";
    default: return by_bytes[vec];
  }
}

static void put_vector(CtEmit *e, const Operand *op, int vec, bool is_read) {
  ct_text_printf(&e->body, "*reinterpret_cast<%s%s*>(", is_read ? "const " : "",
                 vector_type(op->buf->dtype, vec));
  put_address(e, op);
  ct_text_putc(&e->body, ')');
}

/* --- loops ------------------------------------------------------------------------------------------ */

typedef struct Nest {
  CtEmit *e;
  CtLoc loc;
  int n;
  size_t mark[MAX_MODES + 4];
} Nest;

enum { UNROLL_NO = 0, UNROLL_ALL = -1 }; /* or a factor */

static void put_unroll(Nest *nest, int unroll) {
  if (unroll == UNROLL_ALL) {
    ct_emit_line(nest->e, nest->loc, "#pragma unroll");
  } else if (unroll != UNROLL_NO) {
    ct_emit_line(nest->e, nest->loc, "#pragma unroll %d", unroll);
  }
}

static void enter_scope(Nest *nest) {
  nest->mark[nest->n++] = ct_names_mark(&nest->e->names);
  ct_emit_open(nest->e);
}

/* "i", or "ii" inside a loop over i. */
static const char *name_index(CtEmit *e, char letter) {
  const char text[] = {letter, ct_names_is_taken(&e->names, (const char[]){letter, '\0'}) ? letter : '\0',
                       '\0'};
  return ct_names_add(&e->names, text);
}

/* Begins a loop over [0, extent); the name of its variable. */
static const char *enter_loop(Nest *nest, char wanted, CtInt extent, int step, int unroll) {
  CtEmit *e = nest->e;
  bool is_wide = ct_is_static(extent) ? extent.v > INT32_MAX
                                      : ct_inst(e->ir, extent.id)->type == CT_i64;
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

static void leave(Nest *nest) { ct_emit_close(nest->e, nest->mark[--nest->n]); }

static void leave_all(Nest *nest) {
  while (nest->n > 0) {
    leave(nest);
  }
}

static CtInt fixed(int64_t n) { return ct_int(n); }

/* --- elementwise loops ------------------------------------------------------------------------------ */

/* Splits the modes of all views until they agree. False where they cannot. */
static bool refine(Each *each) {
  Leaves l[MAX_VIEWS];
  int at[MAX_VIEWS] = {0};
  for (int k = 0; k < each->n_views; k++) {
    if (!list_leaves(each->view[k]->layout, false, &l[k])) {
      return false;
    }
  }
  each->n_modes = 0;
  while (at[0] < l[0].n) {
    CtInt g = l[0].leaf[at[0]].extent;
    bool same = true;
    for (int k = 1; k < each->n_views; k++) {
      if (at[k] >= l[k].n) {
        return false;
      }
      CtInt n = l[k].leaf[at[k]].extent;
      same = same && ct_int_equal(n, g);
      g = ct_is_static(n) && ct_is_static(g) && n.v < g.v ? n : g;
    }
    if (each->n_modes == MAX_MODES || (!same && !ct_is_static(g))) {
      return false;
    }
    for (int k = 0; k < each->n_views; k++) {
      Leaf *leaf = &l[k].leaf[at[k]];
      each->stride[k][each->n_modes] = leaf->stride;
      if (ct_int_equal(leaf->extent, g)) {
        at[k]++;
      } else if (!ct_is_static(leaf->extent) || leaf->extent.v % g.v != 0) {
        return false;
      } else {
        leaf->extent.v /= g.v;
        leaf->stride = times(leaf->stride, g.v);
      }
    }
    each->extent[each->n_modes++] = g;
  }
  for (int k = 1; k < each->n_views; k++) {
    if (at[k] < l[k].n) {
      return false;
    }
  }
  return true;
}

static void drop_mode(Each *each, int i) {
  for (int j = i; j + 1 < each->n_modes; j++) {
    each->extent[j] = each->extent[j + 1];
    for (int k = 0; k < each->n_views; k++) {
      each->stride[k][j] = each->stride[k][j + 1];
    }
  }
  each->n_modes--;
}

/* Merges mode i + 1 into mode i where every view continues. */
static bool merge_mode(Each *each, int i) {
  if (!ct_is_static(each->extent[i]) || !ct_is_static(each->extent[i + 1])) {
    return false;
  }
  for (int k = 0; k < each->n_views; k++) {
    if (!continues(each->extent[i], each->stride[k][i], each->stride[k][i + 1])) {
      return false;
    }
  }
  each->extent[i].v *= each->extent[i + 1].v;
  drop_mode(each, i + 1);
  return true;
}

static void coalesce(Each *each) {
  for (int i = 0; i + 1 < each->n_modes;) {
    i += merge_mode(each, i) ? 0 : 1;
  }
}

/* Takes n of the first mode into the vector: lanes [have, have * n) continue lanes [0, have). */
static bool take_lanes(Each *each, int have, int64_t n) {
  for (int k = 0; k < each->n_views; k++) {
    Stride s = each->stride[k][0];
    if (!ct_is_static(s.d)) {
      return false;
    }
    for (int j = have; j < have * n; j++) {
      each->lane[k][j] = each->lane[k][j - have] + s.d.v;
    }
    each->stride[k][0] = times(s, n);
  }
  return true;
}

/* Splits `vec` elements off the front of the modes. */
static bool take_vector(Each *each, int vec) {
  int have = 1;
  memset(each->lane, 0, sizeof each->lane);
  while (have < vec) {
    int64_t want = vec / have;
    if (each->n_modes == 0 || !ct_is_static(each->extent[0])) {
      return false;
    }
    int64_t n = ct_min(each->extent[0].v, want);
    if (n == 0 || each->extent[0].v % n != 0 || want % n != 0 || !take_lanes(each, have, n)) {
      return false;
    }
    each->extent[0].v /= n;
    have *= (int)n;
    if (each->extent[0].v == 1) {
      drop_mode(each, 0);
    }
  }
  each->vec = vec;
  return true;
}

/* One loop over all elements; each view splits their number. */
static bool flatten(CtEmit *e, Each *each, Nest *nest) {
  Leaves l;
  for (int k = 0; k < each->n_views; k++) {
    if (!is_all_static(each->view[k]->layout) ||
        !list_leaves(each->view[k]->layout, true, &l)) {
      ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                   "%s: the shapes of '%s' and '%s' split a run-time extent differently; give both "
                   "tensors the same modes",
                   each->what, each->op[0].base, each->op[k].base);
      return false;
    }
  }
  const char *var = enter_loop(nest, 'i', fixed(leaves_size(&l)), 1, UNROLL_ALL);
  for (int k = 0; k < each->n_views; k++) {
    (void)list_leaves(each->view[k]->layout, true, &l);
    add_split(&each->op[k], var, &l, 1);
  }
  return true;
}

static bool has_registers(const Each *each) {
  bool any = false;
  for (int k = 0; k < each->n_views; k++) {
    any = any || is_register(&each->op[k]);
  }
  return any;
}

/* Iterations of the modes [0, n), or a huge number. */
static int64_t iterations(const Each *each, int n) {
  int64_t total = 1;
  for (int i = 0; i < n; i++) {
    if (!ct_is_static(each->extent[i]) || each->extent[i].v > MAX_FMAS || total > MAX_FMAS) {
      return INT64_MAX;
    }
    total *= each->extent[i].v;
  }
  return total;
}

static void enter_modes(Each *each, Nest *nest) {
  static const char names[] = "ijkl";
  const char *vars[MAX_MODES];
  bool all = has_registers(each);
  for (int i = each->n_modes; i-- > 0;) {
    bool unrolled = all || iterations(each, i + 1) <= MAX_UNROLLED;
    vars[i] = enter_loop(nest, names[i < 4 ? i : 3], each->extent[i], 1,
                         unrolled ? UNROLL_ALL : UNROLL_NO);
  }
  for (int k = 0; k < each->n_views; k++) {
    for (int i = 0; i < each->n_modes; i++) {
      add_term(&each->op[k], vars[i], 1, 0, each->stride[k][i]);
    }
  }
}

static bool is_empty(const Each *each) {
  for (int i = 0; i < each->n_modes; i++) {
    if (ct_is_const(each->extent[i], 0)) {
      return true;
    }
  }
  return false;
}

typedef void (*Body)(CtEmit *e, const Each *each);

/* Writes the loops, and in them what `body` does with one element, or with vec of them. */
static void put_loops(CtEmit *e, Each *each, int vec, Body body) {
  Nest nest = {.e = e, .loc = each->inst->loc};
  for (int k = 0; k < each->n_views; k++) {
    each->op[k] = operand_of(e, each->view[k]);
  }
  each->vec = 1;
  if (refine(each)) {
    coalesce(each);
    if (is_empty(each)) {
      return;
    }
    Each before = *each;
    if (vec > 1 && !take_vector(each, vec)) {
      *each = before;
      memset(each->lane, 0, sizeof each->lane);
    }
    enter_modes(each, &nest);
  } else if (!flatten(e, each, &nest)) {
    return;
  }
  body(e, each);
  leave_all(&nest);
}

/* --- copy -------------------------------------------------------------------------------------------- */

enum { DST, SRC, SRC_B };

static void put_async(CtEmit *e, const Each *each) {
  size_t bytes = (size_t)each->vec * ct_dtype_bytes(each->op[DST].buf->dtype);
  const char *name = bytes == 16 ? ct_emit_help(e, CT_HELP_CP_ASYNC_16, "cp_async_16")
                     : bytes == 8 ? ct_emit_help(e, CT_HELP_CP_ASYNC_8, "cp_async_8")
                                  : ct_emit_help(e, CT_HELP_CP_ASYNC_4, "cp_async_4");
  ct_text_printf(&e->body, "%s(", name);
  put_address(e, &each->op[DST]);
  ct_text_puts(&e->body, ", ");
  put_address(e, &each->op[SRC]);
  ct_text_puts(&e->body, ");");
}

static const char lanes_xyzw[] = "xyzw";

/* Registers from a vector: read into a local, then taken apart. */
static void unpack(CtEmit *e, const Each *each) {
  const char *v = ct_names_add(&e->names, "v");
  ct_text_printf(&e->body, "const %s %s = ", vector_type(each->op[SRC].buf->dtype, each->vec), v);
  put_vector(e, &each->op[SRC], each->vec, true);
  ct_text_putc(&e->body, ';');
  for (int j = 0; j < each->vec; j++) {
    ct_emit_end(e);
    ct_emit_begin(e, each->inst->loc);
    put_element(e, &each->op[DST], each->lane[DST][j]);
    ct_text_printf(&e->body, " = %s.%c;", v, lanes_xyzw[j]);
  }
}

static void pack(CtEmit *e, const Each *each) {
  put_vector(e, &each->op[DST], each->vec, false);
  ct_text_printf(&e->body, " = make_%s(", vector_type(each->op[DST].buf->dtype, each->vec));
  for (int j = 0; j < each->vec; j++) {
    ct_text_puts(&e->body, j > 0 ? ", " : "");
    put_element(e, &each->op[SRC], each->lane[SRC][j]);
  }
  ct_text_puts(&e->body, ");");
}

static void copy_elements(CtEmit *e, const Each *each) {
  if (each->vec > 1) {
    put_vector(e, &each->op[DST], each->vec, false);
    ct_text_puts(&e->body, " = ");
    put_vector(e, &each->op[SRC], each->vec, true);
  } else {
    put_element(e, &each->op[DST], 0);
    ct_text_puts(&e->body, " = ");
    put_element(e, &each->op[SRC], 0);
  }
  ct_text_putc(&e->body, ';');
}

static void copy_body(CtEmit *e, const Each *each) {
  size_t bytes = (size_t)each->vec * ct_dtype_bytes(each->op[DST].buf->dtype);
  ct_emit_begin(e, each->inst->loc);
  if (each->inst->u.tile->async && bytes >= 4) {
    put_async(e, each);
  } else if (each->vec > 1 && is_register(&each->op[DST])) {
    unpack(e, each);
  } else if (each->vec > 1 && is_register(&each->op[SRC])) {
    pack(e, each);
  } else {
    copy_elements(e, each);
  }
  ct_emit_end(e);
}

static void emit_copy(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  Each each = {.what = "copy", .inst = inst, .n_views = 2, .view = {&t->dst, &t->a}};
  bool packs_bool = e->ir->bufs[t->dst.buf].dtype == CT_bool &&
                    (e->ir->bufs[t->dst.buf].space == CT_REGISTER ||
                     e->ir->bufs[t->a.buf].space == CT_REGISTER);
  put_loops(e, &each, packs_bool ? 1 : t->vec, copy_body);
}

/* --- fill, axpby, fma -------------------------------------------------------------------------------- */

static void fill_body(CtEmit *e, const Each *each) {
  ct_emit_begin(e, each->inst->loc);
  put_element(e, &each->op[DST], 0);
  ct_text_puts(&e->body, " = ");
  ct_emit_expr(e, each->inst->args[0], CT_PREC_ANY);
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

static void emit_fill(CtEmit *e, const CtInst *inst) {
  Each each = {.what = "fill", .inst = inst, .n_views = 1, .view = {&inst->u.tile->dst}};
  put_loops(e, &each, 1, fill_body);
}

static bool is_one(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  return inst->op == CT_OP_CONST &&
         (ct_is_float((CtDtype)inst->type) ? inst->imm.f == 1.0 : inst->imm.i == 1);
}

static const char *unsigned_name(CtDtype type) {
  return type == CT_i32 ? "unsigned" : "unsigned long long";
}

/* scale * element, or the element itself where the scale is 1; the product in unsigned numbers. */
static void put_scaled(CtEmit *e, CtVal scale, const Operand *op) {
  if (ct_is_int(op->buf->dtype)) {
    ct_text_printf(&e->body, "(%s)", unsigned_name(op->buf->dtype));
  }
  if (!is_one(e, scale)) {
    ct_emit_expr(e, scale, CT_PREC_UNARY);
    ct_text_puts(&e->body, " * ");
  }
  put_element(e, op, 0);
}

/* alpha * x + beta * y, contracted as any such sum: the left product is part of an fma. */
static void axpby_body(CtEmit *e, const Each *each) {
  const CtInst *inst = each->inst;
  CtDtype type = each->op[DST].buf->dtype;
  bool fused = ct_is_float(type) && e->ir->contract && !is_one(e, inst->args[0]);
  ct_emit_begin(e, inst->loc);
  put_element(e, &each->op[DST], 0);
  ct_text_puts(&e->body, " = ");
  if (fused) {
    ct_text_puts(&e->body, type == CT_f32 ? "fmaf(" : "fma(");
    ct_emit_expr(e, inst->args[0], CT_PREC_COND);
    ct_text_puts(&e->body, ", ");
    put_element(e, &each->op[SRC], 0);
    ct_text_puts(&e->body, ", ");
    put_scaled(e, inst->args[1], &each->op[DST]);
    ct_text_puts(&e->body, ");");
  } else {
    bool is_int = ct_is_int(type);
    ct_text_printf(&e->body, is_int ? "(%s)(" : "", ct_dtypes[type].cuda);
    put_scaled(e, inst->args[0], &each->op[SRC]);
    ct_text_puts(&e->body, " + ");
    put_scaled(e, inst->args[1], &each->op[DST]);
    ct_text_puts(&e->body, is_int ? ");" : ";");
  }
  ct_emit_end(e);
}

static bool has_numbers(CtEmit *e, const CtInst *inst, const char *what) {
  if (e->ir->bufs[inst->u.tile->dst.buf].dtype != CT_bool) {
    return true;
  }
  ct_emit_fail(e, inst->loc, CT_EUNSUPPORTED, "%s: the elements of '%s' are bool; expected numbers",
               what, e->ir->bufs[inst->u.tile->dst.buf].name);
  return false;
}

static void emit_axpby(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  if (!has_numbers(e, inst, "axpby")) {
    return;
  }
  Each each = {.what = "axpby", .inst = inst, .n_views = 2, .view = {&t->dst, &t->a}};
  put_loops(e, &each, 1, axpby_body);
}

/* c = a * b + c, rounded once; integers wrap around. a and b: an element, or a staged one by name. */
static void put_fma(CtEmit *e, const Operand *c, const Operand *a, const Operand *b) {
  CtDtype type = c->buf->dtype;
  bool is_int = ct_is_int(type);
  put_element(e, c, 0);
  if (is_int) {
    ct_text_printf(&e->body, " = (%s)((%s)", ct_dtypes[type].cuda, unsigned_name(type));
  } else {
    ct_text_puts(&e->body, type == CT_f32 ? " = fmaf(" : " = fma(");
  }
  put_element(e, a, 0);
  ct_text_puts(&e->body, is_int ? " * " : ", ");
  put_element(e, b, 0);
  ct_text_puts(&e->body, is_int ? " + " : ", ");
  put_element(e, c, 0);
  ct_text_puts(&e->body, ");");
}

static void fma_body(CtEmit *e, const Each *each) {
  ct_emit_begin(e, each->inst->loc);
  put_fma(e, &each->op[DST], &each->op[SRC], &each->op[SRC_B]);
  ct_emit_end(e);
}

/* --- gemm -------------------------------------------------------------------------------------------- */

/* A matrix operand: leaves of its modes (rows, then k or columns), where its elements are. */
typedef struct Matrix {
  const CtView *view;
  Leaves mode[2];
  int64_t size[2];
  Operand op;
} Matrix;

typedef struct Gemm {
  CtEmit *e;
  const CtInst *inst;
  Matrix a, b, c;
  int64_t m, n, k;
} Gemm;

static bool init_matrix(CtEmit *e, const CtInst *inst, const CtView *view, Matrix *out) {
  *out = (Matrix){.view = view, .size = {1, 1}, .op = operand_of(e, view)};
  int rank = ct_layout_rank(view->layout);
  for (int i = 0; i < rank && i < 2; i++) {
    if (!list_leaves(ct_mode(view->layout, i), true, &out->mode[i])) {
      ct_emit_fail(e, inst->loc, CT_EUNSUPPORTED, "gemm: '%s' has more than %d modes", out->op.base,
                   MAX_MODES);
      return false;
    }
    out->size[i] = leaves_size(&out->mode[i]);
  }
  return true;
}

static bool is_multiple(const CtEmit *e, Stride s, int64_t vec) {
  int64_t div = ct_ir_facts(e->ir, s.d).div;
  return ct_is_static(s.d) ? s.d.v % vec == 0 : (div % vec) * (s.times % vec) % vec == 0;
}

/* How many consecutive rows can be read at once: contiguous, and aligned at every k. */
static int row_vector(const CtEmit *e, const Matrix *x) {
  const CtBuf *buf = x->op.buf;
  int64_t bytes = (int64_t)ct_dtype_bytes(buf->dtype);
  const Leaves *rows = &x->mode[0];
  int64_t vec = ct_min(16, buf->align) / bytes;
  if (rows->n == 0 || !is_stride(rows->leaf[0].stride, 1) || buf->dtype == CT_bool) {
    return 1;
  }
  for (; vec > 1; vec /= 2) {
    bool fits = rows->leaf[0].extent.v % vec == 0 &&
                ct_ir_facts(e->ir, x->view->offset).div % vec == 0;
    for (int i = 0; i < 2; i++) {
      for (int j = i == 0 ? 1 : 0; j < x->mode[i].n; j++) {
        fits = fits && is_multiple(e, x->mode[i].leaf[j].stride, vec);
      }
    }
    if (fits) {
      break;
    }
  }
  return vec < 1 ? 1 : (int)vec;
}

/* Reads the rows of one k into a register array of that name. */
static void stage(Gemm *g, Nest *nest, Matrix *x, const char *array, char var, const char *k) {
  CtEmit *e = g->e;
  int vec = row_vector(e, x);
  Operand from = x->op;
  const char *m = enter_loop(nest, var, fixed(x->size[0]), vec, UNROLL_ALL);
  add_split(&from, m, &x->mode[0], vec);
  add_split(&from, k, &x->mode[1], 1);
  ct_emit_begin(e, g->inst->loc);
  if (vec == 1) {
    ct_text_printf(&e->body, "%s[%s] = ", array, m);
    put_element(e, &from, 0);
    ct_text_putc(&e->body, ';');
  } else {
    const char *v = ct_names_add(&e->names, "v");
    ct_text_printf(&e->body, "const %s %s = ", vector_type(from.buf->dtype, vec), v);
    put_vector(e, &from, vec, true);
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
    ct_emit_begin(e, g->inst->loc);
    ct_text_printf(&e->body, "%s[%s] = %s.x;", array, m, v);
    for (int j = 1; j < vec; j++) {
      ct_text_printf(&e->body, " %s[%s + %d] = %s.%c;", array, m, j, v, lanes_xyzw[j]);
    }
  }
  ct_emit_end(e);
  leave(nest);
}

/* After staging, the operand is array[row]. */
static void use_array(Matrix *x, const char *array) {
  static const Stride unit = {{.v = 1}, 1};
  x->op = (Operand){.buf = x->op.buf, .base = array};
  x->mode[0].n = 1;
  x->mode[0].leaf[0] = (Leaf){ct_int(x->size[0]), unit};
  x->mode[1].n = 0;
}

static void stage_operands(Gemm *g, Nest *nest, const char *k) {
  Matrix *x[2] = {&g->a, &g->b};
  static const char *const wanted[2] = {"a", "b"};
  static const char var[2] = {'m', 'n'};
  const char *array[2] = {NULL, NULL};
  const char *type = ct_dtypes[g->c.op.buf->dtype].cuda;
  for (int i = 0; i < 2; i++) {
    if (!is_register(&x[i]->op)) {
      array[i] = ct_names_add(&g->e->names, wanted[i]);
      ct_emit_line(g->e, g->inst->loc, "%s %s[%" PRId64 "];", type, array[i], x[i]->size[0]);
    }
  }
  for (int i = 0; i < 2; i++) {
    if (array[i] != NULL) {
      stage(g, nest, x[i], array[i], var[i], k);
      use_array(x[i], array[i]);
    }
  }
}

static void put_multiply(Gemm *g, const char *m, const char *n, const char *k) {
  Operand a = g->a.op;
  Operand b = g->b.op;
  Operand c = g->c.op;
  add_split(&a, m, &g->a.mode[0], 1);
  add_split(&a, k, &g->a.mode[1], 1);
  add_split(&b, n, &g->b.mode[0], 1);
  add_split(&b, k, &g->b.mode[1], 1);
  add_split(&c, m, &g->c.mode[0], 1);
  add_split(&c, n, &g->c.mode[1], 1);
  ct_emit_begin(g->e, g->inst->loc);
  put_fma(g->e, &c, &a, &b);
  ct_emit_end(g->e);
}

static const char *loop_m(Gemm *g, Nest *nest) {
  return enter_loop(nest, 'm', fixed(g->m), 1, UNROLL_ALL);
}
static const char *loop_n(Gemm *g, Nest *nest) {
  return enter_loop(nest, 'n', fixed(g->n), 1, UNROLL_ALL);
}

static void multiply_columns(Gemm *g, Nest *nest, const char *k) {
  const char *n = loop_n(g, nest);
  const char *m = loop_m(g, nest);
  put_multiply(g, m, n, k);
}

static void multiply_rows(Gemm *g, Nest *nest, const char *k) {
  const char *m = loop_m(g, nest);
  const char *n = loop_n(g, nest);
  put_multiply(g, m, n, k);
}

/* Every second row backwards, so that consecutive multiplications share an operand at the turn too. */
static void multiply_serpentine(Gemm *g, Nest *nest, const char *k) {
  const char *m = loop_m(g, nest);
  const char *i = enter_loop(nest, 'i', fixed(g->n), 1, UNROLL_ALL);
  const char *n = ct_names_add(&g->e->names, "n");
  ct_emit_line(g->e, g->inst->loc, "const int %s = %s %% 2 == 0 ? %s : %" PRId64 " - %s;", n, m, i,
               g->n - 1, i);
  put_multiply(g, m, n, k);
}

/* Pairs of columns, every second pair backwards over the rows; in each row the pair changes sides. */
static void multiply_pairs(Gemm *g, Nest *nest, const char *k) {
  CtEmit *e = g->e;
  CtLoc loc = g->inst->loc;
  const char *p = enter_loop(nest, 'p', fixed(g->n), 2, UNROLL_ALL);
  const char *i = enter_loop(nest, 'i', fixed(g->m), 1, UNROLL_ALL);
  const char *j = enter_loop(nest, 'j', fixed(2), 1, UNROLL_ALL);
  const char *m = ct_names_add(&e->names, "m");
  const char *n = ct_names_add(&e->names, "n");
  ct_emit_line(e, loc, "const int %s = %s / 2 %% 2 == 0 ? %s : %" PRId64 " - %s;", m, p, i, g->m - 1,
               i);
  ct_emit_line(e, loc, "const int %s = %s + (%s + %s) %% 2;", n, p, i, j);
  if (g->n % 2 != 0) {
    ct_emit_line(e, loc, "if (%s == %" PRId64 ") continue;", n, g->n);
  }
  put_multiply(g, m, n, k);
}

typedef void (*Order)(Gemm *g, Nest *nest, const char *k);
static const Order orders[CT_GEMM_ORDER_COUNT] = {
    [CT_GEMM_COLUMNS] = multiply_columns,
    [CT_GEMM_ROWS] = multiply_rows,
    [CT_GEMM_SERPENTINE] = multiply_serpentine,
    [CT_GEMM_COLUMN_PAIRS] = multiply_pairs,
};

/* All of k, unless that is a lot of text for the compiler and no register is indexed by k. */
static int unroll_k(const Gemm *g) {
  bool fixed_index = (is_register(&g->a.op) && g->a.mode[1].n > 0) ||
                     (is_register(&g->b.op) && g->b.mode[1].n > 0);
  int64_t per_k = g->m * g->n;
  int64_t factor = 1;
  if (fixed_index || per_k * g->k <= MAX_FMAS) {
    return UNROLL_ALL;
  }
  while (factor * 2 * per_k <= GEMM_BODY_FMAS) {
    factor *= 2;
  }
  return (int)factor;
}

static void put_gemm(Gemm *g) {
  Nest nest = {.e = g->e, .loc = g->inst->loc};
  const char *k = "";
  if (g->k > 1) {
    k = enter_loop(&nest, 'k', fixed(g->k), 1, unroll_k(g));
  } else {
    ct_emit_line(g->e, g->inst->loc, "{");
    enter_scope(&nest);
  }
  stage_operands(g, &nest, k);
  orders[g->inst->u.tile->order](g, &nest, k);
  leave_all(&nest);
}

static void emit_gemm(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  if (!has_numbers(e, inst, "gemm")) {
    return;
  }
  if (ct_layout_rank(t->dst.layout) == 1) {
    Each each = {.what = "gemm", .inst = inst, .n_views = 3, .view = {&t->dst, &t->a, &t->b}};
    put_loops(e, &each, 1, fma_body);
    return;
  }
  Gemm g = {.e = e, .inst = inst};
  if (!init_matrix(e, inst, &t->a, &g.a) || !init_matrix(e, inst, &t->b, &g.b) ||
      !init_matrix(e, inst, &t->dst, &g.c)) {
    return;
  }
  g.m = g.a.size[0];
  g.n = g.b.size[0];
  g.k = g.a.size[1];
  if (g.m > 0 && g.n > 0 && g.k > 0) {
    put_gemm(&g);
  }
}

void ct_emit_tile(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_COPY: emit_copy(e, inst); break;
    case CT_OP_FILL: emit_fill(e, inst); break;
    case CT_OP_AXPBY: emit_axpby(e, inst); break;
    case CT_OP_GEMM: emit_gemm(e, inst); break;
    default: CT_UNREACHABLE();
  }
}
