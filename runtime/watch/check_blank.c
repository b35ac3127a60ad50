/* check_blank.c: `check` of global memory that was allocated without contents: reads of what nobody has
   written. A launch counts as writing what it is about to write, whatever the order: what lacks an order
   is a race. After a launch with a finding, the memory that it uses counts as written, because the fault may
   have kept it from being written. */
#include "check_global.h"

static bool is_used(const CtGlobal *g, const CtBlank *b) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    if (g->regions[i].begin < b->end && b->begin < g->regions[i].end) {
      return true;
    }
  }
  return false;
}

/* What is known of the blanks before the launch: it may run again (CtWatchOps.again). */
static bool keep_states(CtCheck *c) {
  bool ok = true;
  c->blank_states = ct_arena_alloc(&c->arena, (c->n_blanks + 1) * sizeof *c->blank_states);
  for (size_t i = 0; c->blank_states != NULL && i < c->n_blanks && ok; i++) {
    const CtBlank *b = c->blanks[i];
    c->blank_states[i] = ct_arena_alloc(&c->arena, b->n + 1);
    ok = c->blank_states[i] != NULL;
    for (size_t k = 0; ok && k < b->n; k++) {
      c->blank_states[i][k] = atomic_load_explicit(&b->state[k], memory_order_relaxed);
    }
  }
  return ok && c->blank_states != NULL;
}

void ct_check_blank_forget(CtCheck *c) {
  for (size_t i = 0; i < c->n_blanks; i++) {
    for (size_t k = 0; k < c->blanks[i]->n; k++) {
      atomic_store_explicit(&c->blanks[i]->state[k], c->blank_states[i][k], memory_order_relaxed);
    }
  }
  c->n_blanks = 0;
}

bool ct_check_blank_begin(CtCheck *c) {
  size_t n = 0;
  c->n_blanks = 0;
  if (c->global == NULL || c->ranks != NULL || c->options.blanks == NULL) {
    return true;
  }
  for (const CtBlank *b = c->options.blanks->first; b != NULL; b = b->next) {
    n += is_used(c->global, b) ? 1 : 0;
  }
  c->blanks = ct_arena_alloc(&c->arena, (n + 1) * sizeof *c->blanks);
  if (c->blanks == NULL) {
    return false;
  }
  for (CtBlank *b = c->options.blanks->first; b != NULL; b = b->next) {
    if (is_used(c->global, b)) {
      c->blanks[c->n_blanks++] = b;
    }
  }
  return c->job->group->n_threads == 1 || keep_states(c);
}

void ct_check_blank_end(CtCheck *c) {
  bool has_found = false;
  for (int i = 0; i < c->n_workers; i++) {
    has_found = has_found || c->workers[i].n_found > 0 || c->workers[i].no_memory;
  }
  for (size_t i = 0; has_found && !c->options.is_again && i < c->n_blanks; i++) {
    ct_blank_settle(c->blanks[i]);
  }
  c->n_blanks = 0;
}

static CtBlank *find(const CtCheck *c, const char *begin, size_t bytes) {
  for (size_t i = 0; i < c->n_blanks; i++) {
    CtBlank *b = c->blanks[i];
    if (b->begin <= begin && begin + bytes <= b->end) {
      return b;
    }
  }
  return NULL;
}

static void look_at_element(CtCheckWorker *k, const CtAccess *a, bool reads, int lane,
                            int64_t off) {
  size_t bytes = ct_value_bytes(a->buf->dtype);
  const char *at = ct_access_ptr(a, off);
  CtBlank *b = find(k->check, at, bytes);
  if (b == NULL) {
    return;
  }
  size_t from = (size_t)(at - b->begin);
  CtBlankState state = reads ? ct_blank_state(b, from, bytes) : CT_BLANK_WRITTEN;
  bool is_unset = state == CT_BLANK_UNSET || (state == CT_BLANK_ADDED_TO && a->writes);
  if (is_unset) {
    CtFound f = ct_finding_of(k, CT_CHECK_UNINIT_GLOBAL, a, lane, off);
    ct_finding_note(k, &f);
  }
  if (a->writes && is_unset) {
    ct_blank_add_to(b, from, bytes); /* so each that adds is found, whichever comes first */
  } else if (a->writes) {
    ct_blank_write(b, from, bytes);
  }
}

/* The blank whose elements are those of a regular access, and which of them is the tensor's first; NULL: it is
   another access. */
static CtBlank *blank_of(const CtCheck *c, const CtAccess *a, int64_t *origin) {
  CtDtype dtype = a->buf->dtype;
  if (!a->is_regular) {
    return NULL;
  }
  const char *begin = ct_access_ptr(a, a->lo);
  CtBlank *b = find(c, begin, (size_t)ct_dtype_span(dtype, a->hi - a->lo + 1));
  if (b == NULL || b->element != ct_value_bytes(dtype) ||
      !ct_dtype_begins_at(dtype, (uint64_t)(begin - b->begin))) {
    return NULL;
  }
  *origin = ct_dtype_count(dtype, begin - b->begin) - a->lo;
  return b;
}

/* Only elements with nothing to report: written ones, and those that a plain write sets. */
static bool look_at_states(CtBlank *b, int64_t origin, const CtAccess *a, bool reads) {
  for (int64_t e = 0; e < a->n; e++) {
    int64_t first = origin + ct_access_offset(a, e, 0) - a->pos[0];
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      _Atomic uint8_t *s = &b->state[first + a->pos[ct_first_lane(rest)]];
      if (atomic_load_explicit(s, memory_order_relaxed) == CT_BLANK_WRITTEN) {
        continue;
      }
      if (reads) {
        return false;
      }
      atomic_store_explicit(s, CT_BLANK_WRITTEN, memory_order_relaxed);
    }
  }
  return true;
}

void ct_check_blank_look(CtCheckWorker *k, const CtAccess *a, bool reads) {
  if (k->check->n_blanks == 0 || (!reads && !a->writes)) {
    return;
  }
  int64_t origin = 0;
  CtBlank *b = blank_of(k->check, a, &origin);
  if (b != NULL && look_at_states(b, origin, a, reads)) {
    return;
  }
  int64_t off[CT_LANES];
  for (int64_t e = 0; e < a->n; e++) {
    for (uint32_t rest = ct_access_row(a, e, off); rest != 0; rest &= rest - 1) {
      look_at_element(k, a, reads, ct_first_lane(rest), off[ct_first_lane(rest)]);
    }
  }
}
