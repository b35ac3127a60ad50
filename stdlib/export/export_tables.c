/* {====== Tables of the host ======
   What a function computes before it launches, such as the order of tiles: copied to the GPU at the first launch in a
   context, and kept there. */

typedef struct NAME_place {
  void *context; /* NULL: this place is free. It is set last */
  uint64_t at;
} NAME_place;

static NAME_place NAME_places[UPPER_TABLES][UPPER_CONTEXTS];

static NAME_status NAME_copy_table(const NAME_kernel *k, int number, void *context, NAME_place *p,
                                   NAME_error *err) {
  const char *call = "cuMemAlloc";
  int r = NAME_cu.alloc(&p->at, NAME_table_list[number].bytes);
  if (r == 0) {
    call = "cuMemcpyHtoD";
    r = NAME_cu.write(p->at, NAME_table_list[number].data, NAME_table_list[number].bytes);
  }
  if (r != 0) {
    return NAME_driver_fail(err, r, k->name, call);
  }
  __atomic_store_n(&p->context, context, __ATOMIC_RELEASE);
  return UPPER_OK;
}

/* The place of the table in the context, or the first free one; NULL: there is none. */
static NAME_place *NAME_find_place(int number, const void *context) {
  for (int i = 0; i < UPPER_CONTEXTS; i++) {
    NAME_place *p = &NAME_places[number][i];
    void *held = __atomic_load_n(&p->context, __ATOMIC_ACQUIRE);
    if (held == context || held == NULL) {
      return p;
    }
  }
  return NULL;
}

static NAME_status NAME_table_at(const NAME_kernel *k, int number, uint64_t *at, NAME_error *err) {
  void *context = NULL;
  NAME_status status = NAME_enter(k->name, &context, err);
  NAME_place *p = NAME_find_place(number, context);
  if (status == UPPER_OK && p != NULL && __atomic_load_n(&p->context, __ATOMIC_ACQUIRE) == NULL) {
    (void)pthread_mutex_lock(&NAME_lock);
    p = NAME_find_place(number, context); /* another thread may have been faster */
    if (p != NULL && p->context == NULL) {
      status = NAME_copy_table(k, number, context, p, err);
    }
    (void)pthread_mutex_unlock(&NAME_lock);
  }
  if (status == UPPER_OK && p == NULL) {
    status = NAME_fail(err, UPPER_NO_DEVICE, "%s: it is used in %d contexts, which is the maximum",
                       k->name, UPPER_CONTEXTS);
  }
  *at = p == NULL ? 0 : p->at;
  return status;
}

