/* {====== Tensor maps ======
   How a tensor lies in memory and which box of it an instruction takes. The driver encodes it; a few are kept, so
   that the next launch with the same tensors copies bytes only. */

typedef struct NAME_map_set {
  bool is_valid;
  NAME_slot slots[UPPER_SLOTS]; /* the values that it was made of */
  __attribute__((aligned(64))) unsigned char bytes[128 * UPPER_MAPS];
} NAME_map_set;

enum { UPPER_MAP_SETS = 8 };

static struct {
  int next;
  NAME_map_set sets[UPPER_MAP_SETS];
} NAME_kept[UPPER_CODES];

static void NAME_begin_map(NAME_map *m, const char *name, int dtype, int swizzle, int promotion,
                           int64_t at) {
  m->name = name;
  m->dtype = dtype;
  m->swizzle = swizzle;
  m->promotion = promotion;
  m->rank = 0;
  m->at = (uint64_t)at;
}

/* `stride` is in bytes. The neighbours in a mode of one element are nowhere: any stride is right that the driver
   takes. */
static void NAME_add_dim(NAME_map *m, int64_t extent, int64_t stride, uint32_t box) {
  int64_t any = stride < 16 ? 16 : (stride + 15) / 16 * 16;
  m->extent[m->rank] = (uint64_t)extent;
  m->stride[m->rank] = (uint64_t)(extent == 1 ? any : stride);
  m->box[m->rank++] = box;
}

static NAME_status NAME_encode(const NAME_kernel *k, const NAME_map *m, void *out, NAME_error *err) {
  static const uint32_t steps[5] = {1, 1, 1, 1, 1};
  for (int i = 0; i < m->rank; i++) {
    if ((int64_t)m->extent[i] <= 0) {
      return NAME_fail(err, UPPER_BAD_ARGUMENT,
                       "%s: mode %d of %s has no elements, and its tensor map needs some; launch no blocks "
                       "for an empty tensor",
                       k->name, i, m->name);
    }
  }
  if (NAME_cu.map == NULL) {
    return NAME_fail(err, UPPER_NO_DEVICE, "%s: the driver has no tensor maps; it is older than CUDA 12",
                     k->name);
  }
  int r = NAME_cu.map(out, m->dtype, (uint32_t)m->rank, (void *)(uintptr_t)m->at, m->extent,
                      m->stride + 1, m->box, steps, 0, m->swizzle, m->promotion, 0);
  return r == 0 ? UPPER_OK : NAME_driver_fail(err, r, k->name, "cuTensorMapEncodeTiled");
}

static bool NAME_fits(const NAME_code *code, const NAME_map_set *set, const NAME_slot *s) {
  bool same = set->is_valid;
  for (const int *i = code->map_slots; same && *i >= 0; i++) {
    same = set->slots[*i].i == s[*i].i;
  }
  return same;
}

static NAME_status NAME_make_maps(const NAME_kernel *k, const NAME_code *code, const NAME_slot *s,
                                  NAME_map_set *set, NAME_error *err) {
  NAME_map maps[UPPER_MAPS];
  NAME_status status = code->maps(s, maps, err);
  set->is_valid = false;
  for (int i = 0; i < code->n_maps && status == UPPER_OK; i++) {
    status = NAME_encode(k, &maps[i], set->bytes + 128 * i, err);
  }
  for (const int *i = code->map_slots; *i >= 0; i++) {
    set->slots[*i] = s[*i];
  }
  set->is_valid = status == UPPER_OK;
  return status;
}

static NAME_status NAME_put_maps(const NAME_kernel *k, const NAME_code *code, const NAME_slot *s,
                                 unsigned char *block, NAME_error *err) {
  NAME_map_set *set = NULL;
  NAME_status status = UPPER_OK;
  if (code->n_maps == 0) {
    return UPPER_OK;
  }
  (void)pthread_mutex_lock(&NAME_lock);
  for (int i = 0; i < UPPER_MAP_SETS && set == NULL; i++) {
    NAME_map_set *known = &NAME_kept[code->number].sets[i];
    set = NAME_fits(code, known, s) ? known : NULL;
  }
  if (set == NULL) {
    int i = NAME_kept[code->number].next;
    NAME_kept[code->number].next = (i + 1) % UPPER_MAP_SETS;
    set = &NAME_kept[code->number].sets[i];
    status = NAME_make_maps(k, code, s, set, err);
  }
  if (status == UPPER_OK) {
    memcpy(block + code->maps_at, set->bytes, 128 * (size_t)code->n_maps);
  }
  (void)pthread_mutex_unlock(&NAME_lock);
  return status;
}

