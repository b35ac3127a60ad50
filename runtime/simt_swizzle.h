/* simt_swizzle.h: operands in swizzled memory, for simt_tile.c. Their elements are gathered into scratch,
   where they lie as those of registers do, so that the handlers need not know; what a handler wrote
   there is scattered to its places at the end. */

typedef void (*Mover)(const Raw *raw, char *staged, bool is_write);

/* What finds places, in 32 bits: a block's shared memory has fewer elements. A field beyond these bits
   is one that no offset in it has. */
typedef struct Places {
  uint32_t pos[CT_LANES], y;
  int right, left;
} Places;

static void init_places(const Raw *raw, Places *p) {
  CtSwizzle sw = raw->swizzle;
  p->y = (uint32_t)ct_swizzle_y(sw);
  p->right = sw.shift > 0 ? (int)ct_min(sw.shift, 31) : 0;
  p->left = sw.shift < 0 ? (int)ct_min(-sw.shift, 31) : 0;
  for (int i = 0; i < CT_LANES; i++) {
    p->pos[i] = (uint32_t)raw->pos[i];
  }
}

/* Of the lanes' elements, `at` elements from the start on. */
ALWAYS_INLINE void find_places(const Places *p, int64_t at, int lanes, uint32_t *out) {
  for (int i = 0; i < lanes; i++) {
    uint32_t x = (uint32_t)at + p->pos[i];
    out[i] = x ^ (x & p->y) >> p->right << p->left;
  }
}

/* Gathers or scatters all elements; `lanes` and is_write are constants where this is called. */
#define MOVER(bytes, T)                                                                            \
  ALWAYS_INLINE void move_as_##bytes(const Raw *raw, char *staged, int lanes, bool is_write) {     \
    T *mem = (T *)(void *)raw->ptr, *to = (T *)(void *)staged;                                     \
    uint32_t places[CT_LANES];                                                                     \
    Places p;                                                                                      \
    init_places(raw, &p);                                                                          \
    for (int64_t c = 0; c < raw->n_cols; c++) {                                                    \
      for (int64_t r = 0; r < raw->n_rows; r++, to += lanes) {                                     \
        find_places(&p, raw->at + raw->off[r] + raw->off_k[c], lanes, places);                     \
        for (int i = 0; i < lanes; i++) {                                                          \
          if (is_write) {                                                                          \
            mem[places[i]] = to[i];                                                                \
          } else {                                                                                 \
            to[i] = mem[places[i]];                                                                \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void move_##bytes(const Raw *raw, char *staged, bool is_write) {                          \
    if (raw->lanes == 1) {                                                                         \
      move_as_##bytes(raw, staged, 1, is_write);                                                   \
    } else if (is_write) {                                                                         \
      move_as_##bytes(raw, staged, CT_LANES, true);                                                \
    } else {                                                                                       \
      move_as_##bytes(raw, staged, CT_LANES, false);                                               \
    }                                                                                              \
  }
MOVER(1, uint8_t)
MOVER(2, uint16_t)
MOVER(4, uint32_t)
MOVER(8, uint64_t)

static const Mover movers[] = {[1] = move_1, [2] = move_2, [4] = move_4, [8] = move_8};

static int64_t *count_offsets(int64_t n, int64_t step, int64_t *out) {
  for (int64_t i = 0; i < n; i++) {
    out[i] = i * step;
  }
  return out + n;
}

/* The Side of what is staged: s->raw has the memory. */
static void stage(const CtWarp *w, const CtTileArg *arg, int level, Side *s) {
  const Raw *raw = &s->raw;
  const CtPattern *p = raw->lanes == 1 ? &no_lanes : &register_lanes;
  int64_t *at = (int64_t *)(void *)(w->worker->scratch + arg->staged);
  s->off = at;
  s->off_k = at = count_offsets(raw->n_rows, raw->lanes, at);
  at = count_offsets(raw->n_cols, raw->lanes * raw->n_rows, at);
  s->base = (char *)at;
  s->pos = p->pos;
  s->kind = (CtChunkKind)p->kind[level];
  movers[s->scale](raw, s->base, false);
}

/* After the operation: what it wrote to a destination. */
static const CtIn *finish(const CtIn *in, const Side *d) {
  if (d->raw.lanes != 0) {
    movers[d->scale](&d->raw, d->base, true);
  }
  return in + 1;
}
