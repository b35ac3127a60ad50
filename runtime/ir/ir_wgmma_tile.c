/* ir_wgmma_tile.c: what wgmma reads from shared memory: from the layout of an operand's values to what
   its descriptor says.

   A descriptor knows rows of 16 bytes, T elements each, and one of these forms, in elements (PTX ISA,
   "Shared memory matrix layout"; W is the bytes of the swizzle over 16, 1 for none):

     K-major   ((8,m),(T,2)):((W T,stride),(1,T))     none: ((8,m),(T,2)):((T,stride),(1,leading))
     MN-major  ((W T,m),(8,k)):((1,leading),(W T,stride))   none: ((T,m),(8,k)):((1,stride),(T,leading))

   The layout of the values of an atom, (rows, k), is composed with the shape of the form; what comes out
   must have its strides. The swizzle takes bits of the address, so it is the buffer's, and the buffer
   begins at a multiple of what it permutes. */
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

enum { ROW_BYTES = 16, ROWS = 8 };

typedef struct Finder {
  CtIr *ir;
  const CtAtom *atom;
  CtView view;
  CtAtomOperand of;
  int64_t bytes, t; /* of an element; elements of a row */
  int64_t n, k;     /* of an atom */
  int64_t width;    /* rows of 16 bytes that the swizzle permutes: W */
} Finder;

/* Strides of a mode of n elements: within its first `part` and from one such part to the next, 0 where there
   is one. */
typedef struct Steps {
  int64_t inner, outer;
} Steps;

static CtStatus refuse(const Finder *f, const char *why, CtErr *err) {
  char rule[256 + CT_ATOM_TEXT_MAX];
  snprintf(rule, sizeof rule, "is nothing that %s reads as %c: %s", f->atom->name,
           f->of == CT_ATOM_A ? 'A' : 'B', why);
  return ct_tile_fail(f->ir, "gemm", f->view, rule, err);
}

/* Composes the mode with (part, n / part); false where it has no such two strides. */
static bool find_steps(const Finder *f, CtLayout mode, int64_t n, int64_t part, Steps *out) {
  CtCx cx = ct_ir_cx(f->ir);
  char text[64];
  CtLayout form, both, inner, outer;
  CtErr err;
  part = part < n ? part : n;
  snprintf(text, sizeof text, "(%lld,%lld)", (long long)part, (long long)(n / part));
  if (n % part != 0 || ct_layout_parse(cx.arena, text, strlen(text), &form, &err) != CT_OK ||
      ct_compose(&cx, mode, form, &both, &err) != CT_OK ||
      ct_coalesce(&cx, ct_mode(both, 0), NULL, &inner, &err) != CT_OK ||
      ct_coalesce(&cx, ct_mode(both, 1), NULL, &outer, &err) != CT_OK || !ct_is_leaf(inner.shape) ||
      !ct_is_leaf(outer.shape)) {
    return false;
  }
  out->inner = inner.stride->i.v;
  out->outer = n > part ? outer.stride->i.v : 0;
  return true;
}

static CtWgmmaTile tile_of(const Finder *f, bool is_mn_major, int64_t leading, int64_t stride) {
  int swizzle = f->width > 1 ? (int)f->width * ROW_BYTES : 0;
  return (CtWgmmaTile){is_mn_major, swizzle, leading * f->bytes, stride * f->bytes};
}

static bool is_k_major(const Finder *f, CtLayout rows, CtLayout k, CtWgmmaTile *out) {
  Steps r, c;
  if (!find_steps(f, rows, f->n, ROWS, &r) || !find_steps(f, k, f->k, f->t, &c) || c.inner != 1 ||
      r.inner != f->width * f->t || (f->width > 1 && c.outer != f->t)) {
    return false;
  }
  *out = tile_of(f, false, c.outer, r.outer);
  return true;
}

static bool is_mn_major(const Finder *f, CtLayout rows, CtLayout k, CtWgmmaTile *out) {
  Steps r, c;
  int64_t along = f->width * f->t;
  if (!find_steps(f, rows, f->n, along, &r) || !find_steps(f, k, f->k, ROWS, &c) || r.inner != 1 ||
      c.inner != along) {
    return false;
  }
  *out = f->width > 1 ? tile_of(f, true, r.outer, c.outer) : tile_of(f, true, c.outer, r.outer);
  return true;
}

/* The swizzle permutes rows of 16 bytes by the bits that count the 128 bytes that hold them. */
static CtStatus find_width(Finder *f, CtErr *err) {
  CtSwizzle sw = f->ir->bufs[f->view.buf].swizzle;
  f->width = (int64_t)1 << sw.bits;
  if (sw.bits == 0 || (sw.bits <= 3 && sw.shift == 3 && (int64_t)1 << sw.base == f->t)) {
    return CT_OK;
  }
  char why[160];
  int base = __builtin_ctzll((uint64_t)f->t);
  snprintf(why, sizeof why,
           "of elements of %d bits it knows the swizzles Sw<1,%d,3>, Sw<2,%d,3>, Sw<3,%d,3> and "
           "none; gmma_layout has them",
           (int)f->bytes * 8, base, base, base);
  return refuse(f, why, err);
}

/* Everything moves in units of 16 bytes: atoms, and where the view begins. */
static CtStatus check_units(const Finder *f, CtErr *err) {
  for (int i = 1; i < ct_layout_rank(f->view.layout); i++) {
    CtLayout mode = ct_mode(f->view.layout, i);
    for (uint32_t j = 0; j < mode.shape->len; j++) {
      bool counts = mode.shape[j].rank == CT_LEAF && !ct_is_const(mode.shape[j].i, 1);
      if (counts && mode.stride[j].i.v % f->t != 0) {
        return refuse(f, "its atoms do not begin at multiples of 16 bytes", err);
      }
    }
  }
  if (ct_ir_facts(f->ir, f->view.offset).div % f->t != 0) {
    return refuse(f, "it is not known to begin at a multiple of 16 bytes", err);
  }
  return CT_OK;
}

static CtStatus check_place(const Finder *f, CtErr *err) {
  if (f->ir->bufs[f->view.buf].space != CT_SHARED) {
    return refuse(f, "it is not in shared memory; copy it to a tensor of shared, as by tma_load",
                  err);
  }
  if (f->ir->bufs[f->view.buf].remote != 0) {
    return refuse(f, "it is another block's; copy it to a shared tensor of this one", err);
  }
  if (ct_guard_n(&f->view) > 0) {
    return refuse(f, "it is guarded; guard what is copied to it", err);
  }
  if (!ct_layout_is_static(f->view.layout)) {
    return refuse(f, "its layout is not static", err);
  }
  return CT_OK;
}

static CtStatus check_major(const Finder *f, const CtWgmmaTile *tile, CtErr *err) {
  if (!tile->is_mn_major || f->bytes == 2) {
    return CT_OK;
  }
  return refuse(f,
                f->of == CT_ATOM_A
                    ? "it is contiguous along M, which wgmma reads of 16-bit elements "
                      "only; of others both operands are contiguous along K"
                    : "it is contiguous along N, which wgmma reads of 16-bit elements "
                      "only; of others both operands are contiguous along K",
                err);
}

CtStatus ct_wgmma_tile(CtIr *ir, const CtAtom *atom, CtView v, CtAtomOperand of, CtWgmmaTile *out,
                       CtErr *err) {
  Finder f = {.ir = ir, .atom = atom, .view = v, .of = of};
  CtCx cx = ct_ir_cx(ir);
  CtLayout values = ct_mode(v.layout, 0);
  CtInt n, k;
  f.bytes = (int64_t)ct_dtype_bytes(ir->bufs[v.buf].dtype);
  f.t = ROW_BYTES / f.bytes;
  f.n = of == CT_ATOM_A ? atom->m : atom->n;
  f.k = atom->k;
  CtStatus status = check_place(&f, err);
  status = status == CT_OK ? find_width(&f, err) : status;
  if (status != CT_OK) {
    return status;
  }
  bool is_pair = ct_layout_rank(values) == 2 &&
                 ct_size(&cx, ct_mode(values, 0), &n, err) == CT_OK && ct_is_const(n, f.n) &&
                 ct_size(&cx, ct_mode(values, 1), &k, err) == CT_OK && ct_is_const(k, f.k);
  if (!is_pair) {
    return refuse(&f,
                  "its mode 0 is not (rows,K) of one atom; partition_A and partition_B of a tiled "
                  "MMA give that",
                  err);
  }
  if (!is_k_major(&f, ct_mode(values, 0), ct_mode(values, 1), out) &&
      !is_mn_major(&f, ct_mode(values, 0), ct_mode(values, 1), out)) {
    return refuse(&f,
                  "its rows are in none of the canonical layouts; make the tensor by "
                  "tile_to_shape(gmma_layout(dtype, \"K\" or \"MN\", 128), shape)",
                  err);
  }
  status = check_major(&f, out, err);
  return status == CT_OK ? check_units(&f, err) : status;
}
