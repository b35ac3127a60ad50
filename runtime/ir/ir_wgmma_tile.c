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
  CtTileCx *c;
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

static void refuse(const Finder *f, const char *why) {
  ct_tile_fail_view(f->c, f->view, "is not what %s can read as %c: %s", f->c->atom->name,
                    f->of == CT_ATOM_A ? 'A' : 'B', why);
}

/* Composes the mode with (part, n / part); false if it does not have two such strides. */
static bool find_steps(const Finder *f, CtLayout mode, int64_t n, int64_t part, Steps *out) {
  CtAlg g = al_trial(&f->c->g);
  part = part < n ? part : n;
  if (n % part != 0) {
    return false;
  }
  const CtInt sizes[] = {ct_int(part), ct_int(n / part)};
  CtLayout form = al_layout(&g, al_ints(&g, 2, sizes), NULL);
  CtLayout both = al_compose(&g, ct_composed_plain(mode), ct_composed_plain(form)).layout;
  if (!al_ok(&g)) {
    return false;
  }
  CtLayout inner = al_coalesce(&g, ct_mode(both, 0), NULL);
  CtLayout outer = al_coalesce(&g, ct_mode(both, 1), NULL);
  if (!al_ok(&g) || !ct_is_leaf(inner.shape) || !ct_is_leaf(outer.shape)) {
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
static void find_width(Finder *f) {
  CtSwizzle sw = f->c->ir->bufs[f->view.buf].swizzle;
  f->width = (int64_t)1 << sw.bits;
  if (sw.bits == 0 || (sw.bits <= 3 && sw.shift == 3 && (int64_t)1 << sw.base == f->t)) {
    return;
  }
  char why[160];
  int base = __builtin_ctzll((uint64_t)f->t);
  snprintf(why, sizeof why,
           "for elements of %d bits it has the swizzles Sw<1,%d,3>, Sw<2,%d,3>, Sw<3,%d,3> and "
           "none; gmma_layout has them",
           (int)f->bytes * 8, base, base, base);
  refuse(f, why);
}

/* Atoms, and the beginning of the view, move in units of 16 bytes. */
static void check_units(const Finder *f) {
  for (int i = 1; i < ct_layout_rank(f->view.layout); i++) {
    for (CtLeaves w = ct_layout_leaves(ct_mode(f->view.layout, i)); ct_next_leaf(&w);) {
      if (!ct_is_const(w.shape->i, 1) && w.stride->i.v % f->t != 0) {
        refuse(f, "its atoms do not begin at multiples of 16 bytes");
      }
    }
  }
  if (ct_ir_facts(f->c->ir, f->view.offset).div % f->t != 0) {
    refuse(f, "it is not known to begin at a multiple of 16 bytes");
  }
}

static void check_place(const Finder *f) {
  const CtBuf *buf = &f->c->ir->bufs[f->view.buf];
  if (buf->space != CT_SHARED) {
    refuse(f, "it is not in shared memory; copy it to a shared tensor, for example with tma_load");
  } else if (buf->remote != 0) {
    refuse(f, "it is another block's; copy it to a shared tensor of this one");
  } else if (ct_guard_n(&f->view) > 0) {
    refuse(f, "it is guarded; guard what is copied to it");
  } else if (!ct_layout_is_static(f->view.layout)) {
    refuse(f, "its layout is not static");
  }
}

static void check_major(const Finder *f, const CtWgmmaTile *tile) {
  if (tile->is_mn_major && f->bytes != 2) {
    refuse(f, f->of == CT_ATOM_A
                  ? "it is contiguous along M, which is supported only for 16-bit "
                    "elements; for others, both operands must be contiguous along K"
                  : "it is contiguous along N, which is supported only for 16-bit "
                    "elements; for others, both operands must be contiguous along K");
  }
}

void ct_wgmma_tile(CtTileCx *c, CtView v, CtAtomOperand of, CtWgmmaTile *out) {
  Finder f = {.c = c, .view = v, .of = of};
  CtAlg g = al_trial(&c->g);
  f.bytes = (int64_t)ct_value_bytes(c->ir->bufs[v.buf].dtype);
  f.t = ROW_BYTES / f.bytes;
  f.n = (of == CT_ATOM_A ? c->atom->m : c->atom->n) / ct_atom_blocks(c->atom);
  f.k = c->atom->k / ct_atom_per_element(c->atom, of);
  check_place(&f);
  find_width(&f);
  if (!al_ok(&c->g)) {
    return;
  }
  CtLayout values = ct_mode(v.layout, 0);
  if (ct_layout_rank(values) != 2 || !ct_is_const(al_size(&g, ct_mode(values, 0)), f.n) ||
      !ct_is_const(al_size(&g, ct_mode(values, 1)), f.k)) {
    refuse(&f, "its mode 0 is not (rows,K) of one atom; partition_A and partition_B of a tiled "
               "MMA give that");
    return;
  }
  CtLayout rows = ct_mode(values, 0), columns = ct_mode(values, 1);
  if (!is_k_major(&f, rows, columns, out) && !is_mn_major(&f, rows, columns, out)) {
    refuse(&f, "its rows are in none of the canonical layouts; make the tensor with "
               "tile_to_shape(gmma_layout(dtype, \"K\" or \"MN\", 128), shape)");
    return;
  }
  check_major(&f, out);
  check_units(&f);
}
