/* {------ A launch in a file, for `cuttle replay` ------ */

typedef struct NAME_file {
  FILE *f;
  uint64_t sum; /* FNV-1a of what was written */
} NAME_file;

static void NAME_put_bytes(NAME_file *out, const void *data, size_t n) {
  const unsigned char *p = (const unsigned char *)data;
  for (size_t i = 0; i < n; i++) {
    out->sum = (out->sum ^ p[i]) * UINT64_C(0x100000001b3);
  }
  (void)fwrite(data, 1, n, out->f);
}

static void NAME_put(NAME_file *out, uint64_t v) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) {
    bytes[i] = (unsigned char)(v >> (8 * i) & 255);
  }
  NAME_put_bytes(out, bytes, sizeof bytes);
}

/* What Cuttle's stdlib/microscope/launch_file.lua says: the IR, and the values that are passed. */
static void NAME_put_launch(NAME_file *f, const NAME_special *special, const NAME_twin *twin, const CtIr *ir,
                            const CtSlotValue *slots, const int64_t *n_elems, NAME_dim3 grid, bool with_data) {
  const char *device = with_data ? "memory of the host" : "an exported program";
  const uint64_t head[] = {2, twin->n_bytes, ir->n_slots, grid.x, grid.y, grid.z,
                           (special->is_dependent ? 1u : 0u) | (special->is_cooperative ? 2u : 0u) |
                               (special->is_deterministic ? 4u : 0u),
                           0,
                           strlen(device), with_data ? 1u : 0u};
  NAME_put_bytes(f, "CUTTLESL", 8);
  for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) {
    NAME_put(f, head[i]);
  }
  for (size_t i = 0; i < ir->n_slots; i++) {
    NAME_put(f, (uint64_t)slots[i].i);
  }
  for (int pass = 0; pass < 2; pass++) { /* sizes; then data */
    for (size_t i = 0; i < ir->n_slots; i++) {
      const CtSlot *s = &ir->slots[i];
      bool is_tensor = s->kind == CT_SLOT_POINTER;
      size_t bytes = is_tensor ? (size_t)ct_dtype_span(s->dtype, n_elems[s->param]) : 0;
      if (pass == 0) {
        NAME_put(f, bytes);
      } else if (with_data && bytes > 0) {
        NAME_put_bytes(f, slots[i].ptr, bytes);
      }
    }
    if (pass == 0) {
      NAME_put_bytes(f, device, strlen(device));
      NAME_put_bytes(f, twin->bytes, twin->n_bytes);
    }
  }
  NAME_put(f, f->sum);
}

static NAME_status NAME_write_launch(const NAME_kernel *k, const NAME_slot *args, const NAME_dim3 *grid,
                                     bool with_data, const char *path, NAME_error *err) {
  NAME_slot s[UPPER_SLOTS];
  CtSlotValue slots[UPPER_SLOTS];
  int64_t n_elems[UPPER_ARGS];
  const NAME_special *special = NULL;
  CtErr why;
  memset(s, 0, sizeof s);
  memset(n_elems, 0, sizeof n_elems);
  if (path == NULL) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: cannot write the launch: the path is NULL", k->name);
  }
  NAME_status status = NAME_choose(k, args, s, &special, err);
  status = status == UPPER_OK ? NAME_choose_grid(k, special, args, &grid, err) : status;
  if (status != UPPER_OK) {
    return status;
  }
  int number = NAME_find_twin(special);
  (void)pthread_mutex_lock(&NAME_cpu_lock);
  CtStatus made = number < 0 ? CT_EINVAL : NAME_make(number, &why);
  (void)pthread_mutex_unlock(&NAME_cpu_lock);
  if (number < 0) {
    return NAME_fail(err, UPPER_CPU_ERROR, "%s: this specialisation has no twin", k->name);
  }
  if (made != CT_OK) {
    return NAME_cpu_fail(k, &why, err);
  }
  NAME_fill_cpu(k, special, args, s, slots, n_elems);
  FILE *f = fopen(path, "wb");
  if (f == NULL) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: cannot write %s: %s", k->name, path, strerror(errno));
  }
  NAME_file file = {f, UINT64_C(0xcbf29ce484222325)};
  NAME_put_launch(&file, special, &NAME_twins[number], &NAME_programs[number].ir, slots, n_elems,
                  *grid, with_data);
  bool failed = ferror(f) != 0;
  failed = fclose(f) != 0 || failed;
  return failed ? NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: cannot write %s", k->name, path)
                : NAME_succeed(err);
}

