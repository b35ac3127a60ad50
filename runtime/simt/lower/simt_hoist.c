/* simt_hoist.c: lowering to the CPU engine: computes before a loop what does not change in it.

   It moves only operations that cannot fail and touch no memory. These work on all lanes, active or
   not. Variables count as changing. Control reaches a loop's first instruction only from before the
   loop and from its own back edge. So what stands before it runs once, when the loop is entered. */
#include "simt_lower.h"

#include <string.h>

/* Where a slot gets its value: 2 * pos + 1 at a position, 2 * pos just before it; 0: before
   everything. */
typedef struct Def {
  uint32_t n, at;
  bool changes; /* changes outside its definition too: a variable, a loop's counter */
} Def;

typedef struct Hoist {
  CtLow *l;
  Def *defs;      /* by slot */
  uint32_t *open; /* loops around the position, outermost first */
  uint32_t n_open;
  uint32_t *home;  /* by position: 1 + the loop before which it goes, or 0 */
  bool all_before; /* of the operands visited: defined before `limit` */
  uint32_t limit;
  bool any;
} Hoist;

static void note_def(void *ud, uint32_t slot, uint32_t pos, CtSlotUse how) {
  Def *d = &((Hoist *)ud)->defs[slot];
  if (how == CT_SLOT_DEF) {
    d->n++;
    d->at = 2 * pos + 1;
  } else if (how == CT_SLOT_HIDDEN) {
    d->changes = true;
  }
}

static void find_defs(Hoist *h) {
  CtLow *l = h->l;
  for (uint32_t pos = 0; pos < l->body.n; pos++) {
    const CtIn *in = &l->body.in[pos];
    ct_low_each_slot(l, in, pos, note_def, h);
    if (ct_in_row(in)->counts) {
      h->defs[in->d].changes = true;
      h->defs[in->a].changes = true;
    }
  }
  for (uint32_t i = 1; i < l->n_slots; i++) {
    h->defs[i].changes = h->defs[i].changes || l->slots[i].cls == CT_CLASS_VARIABLE;
  }
}

static void check_operand(void *ud, uint32_t slot, uint32_t pos, CtSlotUse how) {
  Hoist *h = ud;
  const Def *d = &h->defs[slot];
  (void)pos;
  if (how != CT_SLOT_DEF && (d->changes || d->n > 1 || d->at > h->limit)) {
    h->all_before = false;
  }
}

/* Puts an instruction before the outermost loop around it in which its operands stay the same. */
static void choose_home(Hoist *h, uint32_t pos) {
  CtLow *l = h->l;
  const CtIn *in = &l->body.in[pos];
  Def *d = &h->defs[in->d];
  if (!ct_in_row(in)->hoists || d->changes || d->n != 1) {
    return;
  }
  for (uint32_t i = 0; i < h->n_open; i++) {
    h->limit = 2 * l->loops[h->open[i]].first;
    h->all_before = true;
    ct_low_each_slot(l, in, pos, check_operand, h);
    if (h->all_before) {
      h->home[pos] = h->open[i] + 1;
      d->at = h->limit;
      h->any = true;
      return;
    }
  }
}

static void choose_homes(Hoist *h) {
  CtLow *l = h->l;
  size_t next = 0;
  for (uint32_t pos = 0; pos < l->body.n; pos++) {
    while (h->n_open > 0 && l->loops[h->open[h->n_open - 1]].last < pos) {
      h->n_open--;
    }
    for (; next < l->n_loops && l->loops[next].first == pos; next++) {
      h->open[h->n_open++] = (uint32_t)next;
    }
    if (h->n_open > 0) {
      choose_home(h, pos);
    }
  }
}

/* --- moving -------------------------------------------------------------------------------------- */

typedef struct Moved {
  CtIn *in;
  CtLoc *locs;
  uint32_t *to; /* by old position */
  uint32_t n;
} Moved;

static void put(const CtLow *l, Moved *m, uint32_t pos) {
  m->in[m->n] = l->body.in[pos];
  m->locs[m->n++] = l->body.locs[pos];
}

/* Writes those that go before a loop, in their order. */
static void put_hoisted(const Hoist *h, Moved *m, uint32_t loop) {
  const CtLow *l = h->l;
  for (uint32_t pos = l->loops[loop].first; pos <= l->loops[loop].last; pos++) {
    if (h->home[pos] == loop + 1) {
      put(l, m, pos);
    }
  }
}

static void move(const Hoist *h, Moved *m) {
  CtLow *l = h->l;
  size_t next = 0;
  for (uint32_t pos = 0; pos < l->body.n; pos++) {
    for (; next < l->n_loops && l->loops[next].first == pos; next++) {
      put_hoisted(h, m, (uint32_t)next);
    }
    m->to[pos] = m->n;
    if (h->home[pos] == 0) {
      put(l, m, pos);
    }
  }
  memcpy(l->body.in, m->in, m->n * sizeof *m->in);
  memcpy(l->body.locs, m->locs, m->n * sizeof *m->locs);
  for (size_t i = 0; i < l->n_labels; i++) {
    l->labels[i] = l->labels[i] < 0 ? -1 : (int32_t)m->to[l->labels[i]];
  }
  for (size_t i = 0; i < l->n_loops; i++) {
    l->loops[i].first = m->to[l->loops[i].first];
    l->loops[i].last = m->to[l->loops[i].last];
  }
}

static void *scratch(CtLow *l, size_t n, size_t size) {
  void *p = ct_arena_alloc(&l->tmp, n * size + 1);
  l->failed = l->failed || p == NULL;
  if (p != NULL) {
    memset(p, 0, n * size);
  }
  return p;
}

void ct_low_hoist(CtLow *l) {
  Hoist h = {.l = l};
  if (l->n_loops == 0) {
    return;
  }
  h.defs = scratch(l, l->n_slots, sizeof *h.defs);
  h.open = scratch(l, l->n_loops, sizeof *h.open);
  h.home = scratch(l, l->body.n, sizeof *h.home);
  if (l->failed) {
    return;
  }
  find_defs(&h);
  choose_homes(&h);
  Moved m = {scratch(l, l->body.n, sizeof *m.in), scratch(l, l->body.n, sizeof *m.locs),
             scratch(l, l->body.n, sizeof *m.to), 0};
  if (h.any && m.in != NULL && m.locs != NULL && m.to != NULL) {
    move(&h, &m);
  }
}
