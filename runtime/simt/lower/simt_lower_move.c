/* simt_lower_move.c: lowering to the CPU engine: what a copy atom of a warp moves, from its layouts
   (thread, bit) -> bit of the data. If threads of one side have the same bits, the lowest thread
   counts: ldmatrix x1 takes the row addresses of the first 8 lanes, stmatrix x1 writes to
   theirs. */
#include <string.h>

#include "simt_lower.h"

enum { MAX_DATA = CT_LANES * CT_MOVE_BYTES };

/* One side in granules: which of the data each lane has. */
typedef struct Side {
  int n; /* number per lane */
  uint16_t data[CT_LANES * CT_MOVE_BYTES];
} Side;

static bool read_side(CtLow *l, const char *text, int bits, Side *side) {
  CtLayout layout;
  CtCx cx = {.arena = &l->tmp};
  CtInt size = {0};
  CtErr err;
  if (ct_layout_parse(&l->tmp, text, strlen(text), &layout, &err) != CT_OK ||
      ct_size(&cx, layout, &size, &err) != CT_OK) {
    l->failed = true;
    return false;
  }
  side->n = (int)(size.v / CT_LANES / bits);
  CT_ASSERT(side->n * bits <= 8 * CT_MOVE_BYTES);
  for (int lane = 0; lane < CT_LANES; lane++) {
    for (int i = 0; i < side->n; i++) {
      int64_t bit = ct_layout_at(layout, lane + (int64_t)CT_LANES * bits * i);
      side->data[lane * side->n + i] = (uint16_t)(bit / bits);
    }
  }
  return side->n > 0;
}

/* The lanes that are the first to have some of the data. `where`, by granule of the data: lane * n
   + i. */
static uint32_t find_owners(const Side *side, uint16_t where[MAX_DATA]) {
  bool seen[MAX_DATA] = {false};
  uint32_t lanes = 0;
  for (int i = 0; i < CT_LANES * side->n; i++) {
    int data = side->data[i];
    if (!seen[data]) {
      seen[data] = true;
      where[data] = (uint16_t)i;
      lanes |= 1u << (i / side->n);
    }
  }
  return lanes;
}

const CtMove *ct_low_make_move(CtLow *l, const CtAtom *atom, CtDtype dtype) {
  int element = ct_dtype_width(dtype), bits = element < 16 ? element : 16;
  Side src = {0}, dst = {0};
  uint16_t at_src[MAX_DATA] = {0}, at_dst[MAX_DATA] = {0};
  CtMove *move = ct_arena_alloc(&l->p->arena, sizeof *move);
  bool known = read_side(l, atom->layouts[CT_ATOM_SRC], bits, &src) &&
               read_side(l, ct_atom_moves_to(atom), bits, &dst);
  uint16_t *from =
      known ? ct_arena_alloc(&l->p->arena, (size_t)(CT_LANES * dst.n) * sizeof *from) : NULL;
  if (move == NULL || from == NULL) {
    l->failed = true;
    return NULL;
  }
  *move = (CtMove){.n_src = src.n * bits / element,
                   .n_dst = dst.n * bits / element,
                   .bytes = bits / 8,
                   .from = from};
  move->readers = find_owners(&src, at_src);
  move->writers = find_owners(&dst, at_dst);
  for (int i = 0; i < CT_LANES * dst.n; i++) {
    int at = at_src[dst.data[i]];
    from[i] = (uint16_t)(at / src.n * CT_MOVE_BYTES + at % src.n * move->bytes);
  }
  return move;
}

const int32_t *ct_low_tmem_places(CtLow *l, const CtAtom *atom, CtDtype dtype) {
  CtLayout layout;
  CtCx cx = {.arena = &l->tmp};
  CtInt bits = {0};
  CtErr err;
  const char *text = atom->layouts[CT_ATOM_DST];
  int width = ct_dtype_width(dtype);
  if (ct_layout_parse(&l->tmp, text, strlen(text), &layout, &err) != CT_OK ||
      ct_size(&cx, ct_mode(layout, 1), &bits, &err) != CT_OK) {
    l->failed = true;
    return NULL;
  }
  int64_t n = bits.v / width;
  int32_t *place = ct_arena_alloc(&l->p->arena, (size_t)(n * CT_LANES) * sizeof *place);
  l->failed = l->failed || place == NULL;
  for (int64_t i = 0; place != NULL && i < n * CT_LANES; i++) {
    place[i] = (int32_t)ct_atom_tmem_at(atom, layout, width, (int)(i / n), i % n);
  }
  return place;
}
