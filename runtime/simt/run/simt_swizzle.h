/* simt_swizzle.h: operands in swizzled memory, for simt_tile.c. Their elements are gathered into
   the scratch, in the order that registers have, so that handlers need not know about swizzles. At
   the end, what a handler wrote to the scratch is scattered to its places. */

typedef void (*Mover)(const Raw *raw, char *staged, bool is_write);

enum { RUN_LEVEL = 2, RUN_LANES = 1 << RUN_LEVEL };

/* Finds places, in 32 bits, because a block's shared memory has fewer elements. A swizzle whose
   bits lie beyond these changes no offset. */
typedef struct Places {
  uint32_t pos[CT_LANES], y;
  int right, left;
} Places;

static void init_places(const Raw *raw, Places *p) {
  CtSwizzle sw = raw->swizzle;
  p->y = (uint32_t)ct_swizzle_y(sw);
  p->right = sw.shift > 0 ? (int)ct_min(sw.shift, 31) : 0;
  p->left = sw.shift < 0 ? (int)ct_min(-sw.shift, 31) : 0;
  for (int i = 0; i < raw->lanes; i++) {
    p->pos[i] = (uint32_t)raw->pos[i * raw->step];
  }
}

/* Finds the places of the lanes' elements, `at` elements after their first. */
ALWAYS_INLINE void find_places(const Places *p, int64_t at, int lanes, uint32_t *out) {
  for (int i = 0; i < lanes; i++) {
    uint32_t x = (uint32_t)at + p->pos[i];
    out[i] = x ^ (x & p->y) >> p->right << p->left;
  }
}

/* Gathers or scatters all elements. `lanes`, and `unit`, the number of elements at each place, are
   constants at each call. */
#define MOVER(bytes, T)                                                                            \
  ALWAYS_INLINE void move_as_##bytes(const Raw *raw, char *staged, int lanes, size_t unit,         \
                                     bool is_write) {                                              \
    T *mem = (T *)(void *)raw->ptr, *to = (T *)(void *)staged;                                     \
    uint32_t places[CT_LANES];                                                                     \
    Places p;                                                                                      \
    init_places(raw, &p);                                                                          \
    for (int64_t c = 0; c < raw->n_cols; c++) {                                                    \
      for (int64_t r = 0; r < raw->n_rows; r++, to += (size_t)lanes * unit) {                      \
        find_places(&p, raw->at + raw->off[r] + raw->off_k[c], lanes, places);                     \
        for (int i = 0; i < lanes; i++) {                                                          \
          if (is_write) {                                                                          \
            memcpy(mem + places[i], to + (size_t)i * unit, unit * sizeof *to);                     \
          } else {                                                                                 \
            memcpy(to + (size_t)i * unit, mem + places[i], unit * sizeof *to);                     \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void move_##bytes(const Raw *raw, char *staged, bool is_write) {                          \
    if (raw->is_run) {                                                                             \
      move_as_##bytes(raw, staged, CT_LANES / RUN_LANES, RUN_LANES, is_write);                     \
    } else if (raw->lanes == CT_LANES) {                                                           \
      move_as_##bytes(raw, staged, CT_LANES, 1, is_write);                                         \
    } else {                                                                                       \
      move_as_##bytes(raw, staged, raw->lanes, 1, is_write);                                       \
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

static bool all_runs(const int64_t *off, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i += step) {
    if (off[i] % RUN_LANES != 0) {
      return false;
    }
  }
  return true;
}

/* Are runs of lanes adjacent for every element, swizzled or not? */
static bool has_runs(const Raw *raw, const CtPattern *p) {
  return p->kind[RUN_LEVEL] == CT_CONTIGUOUS && raw->swizzle.base >= RUN_LEVEL &&
         raw->at % RUN_LANES == 0 && all_runs(p->pos, CT_LANES, RUN_LANES) &&
         all_runs(raw->off, raw->n_rows, 1) && all_runs(raw->off_k, raw->n_cols, 1);
}

/* The places of the lanes' elements among the staged elements of one (row, column). */
static const int64_t *staged_lanes(const Raw *raw, int64_t *room) {
  for (int i = 0; i < CT_LANES; i++) {
    room[i] = raw->is_run ? i : i / raw->step;
  }
  return room;
}

/* The Side of the staged elements. s->raw describes the memory, as the lanes of p see it. Lanes of
   a vector that share an element get one copy. */
static void stage(const CtWarp *w, const CtTileArg *arg, const CtPattern *p, int level, Side *s) {
  Raw *raw = &s->raw;
  int64_t *at = (int64_t *)(void *)(w->worker->scratch + arg->staged);
  CtChunkKind kind = (CtChunkKind)p->kind[level];
  raw->is_run = has_runs(raw, p);
  raw->step = raw->is_run ? RUN_LANES : kind == CT_SAME && level > 0 ? 1 << level : 1;
  raw->lanes = CT_LANES / raw->step;
  int n = raw->is_run ? CT_LANES : raw->lanes;
  s->pos = staged_lanes(raw, at);
  s->off = at += CT_LANES;
  s->off_k = at = count_offsets(raw->n_rows, n, at);
  at = count_offsets(raw->n_cols, n * raw->n_rows, at);
  s->base = (char *)at;
  s->kind = n == CT_LANES ? CT_CONTIGUOUS : CT_SAME;
  movers[s->scale](raw, s->base, false);
}

/* After the operation: scatters what it wrote to a destination. */
static const CtIn *finish(const CtIn *in, const Side *d) {
  if (d->raw.lanes != 0) {
    movers[d->scale](&d->raw, d->base, true);
  }
  return in + 1;
}
