/* check_known.c: knowledge as pages of moments; see check_known.h. */
#include "check_known.h"

#include <string.h>

#include "runtime/base/order.h"

enum { PAGE_BITS = 6 }; /* so many homes have a page in common */
enum { BLOCK_SHIFT = CT_WHO_WARP_BITS, HOME_SHIFT = BLOCK_SHIFT + CT_WHO_RANK_BITS };
enum { PAGE_SHIFT = HOME_SHIFT + PAGE_BITS, JOB_SHIFT = HOME_SHIFT + CT_WHO_HOME_BITS };

typedef struct Page {
  _Atomic uint32_t refs;
  uint32_t n;
  uint64_t id;
  CtMoment items[]; /* by who */
} Page;

struct CtKnowledge {
  _Atomic uint32_t refs;
  uint32_t n;
  bool is_behind;
  Page *pages[]; /* by id */
};

/* {====== Pages ====== */

static size_t bytes_of_page(size_t n) { return sizeof(Page) + n * sizeof(CtMoment); }

static Page *new_page(CtAlloc alloc, uint64_t id, size_t n) {
  Page *p = ct_alloc(alloc, bytes_of_page(n));
  if (p != NULL) {
    *p = (Page){.refs = 1, .n = (uint32_t)n, .id = id};
  }
  return p;
}

static Page *share_page(Page *p) {
  atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  return p;
}

static void drop_page(CtAlloc alloc, Page *p) {
  if (p != NULL && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1) {
    ct_free(alloc, p, bytes_of_page(p->n));
  }
}

static uint64_t block_of(const CtMoment *m) { return m->who >> BLOCK_SHIFT; }

/* Does `m` say all that `old` says? */
static bool stands_for(const CtMoment *m, const CtMoment *old) {
  if (block_of(m) != block_of(old) || m->epoch < old->epoch) {
    return false;
  }
  return m->epoch > old->epoch ||
         (m->who == old->who && (m->sub > old->sub || (m->sub == old->sub && m->time >= old->time &&
                                                       (old->lanes & ~m->lanes) == 0)));
}

/* Is each moment of `b` in `a`? Both are in order. */
static bool includes(const Page *a, const Page *b) {
  uint32_t i = 0;
  for (uint32_t j = 0; j < b->n; j++) {
    while (i < a->n && block_of(&a->items[i]) < block_of(&b->items[j])) {
      i++;
    }
    bool found = false;
    for (uint32_t m = i; m < a->n && block_of(&a->items[m]) == block_of(&b->items[j]) && !found;
         m++) {
      found = stands_for(&a->items[m], &b->items[j]);
    }
    if (!found) {
      return false;
    }
  }
  return true;
}

/* Adds what `m` says to the moments [from, *n) of its block. */
static void add_to_block(CtMoment *items, size_t from, size_t *n, const CtMoment *m) {
  size_t to = from;
  for (size_t i = from; i < *n; i++) {
    if (stands_for(&items[i], m)) {
      return;
    }
  }
  for (size_t i = from; i < *n; i++) {
    if (stands_for(m, &items[i])) {
      continue;
    }
    items[to] = items[i];
    if (items[to].who == m->who && items[to].time <= m->time) { /* of the same `sub` */
      items[to].lanes &= ~m->lanes;
    }
    to++;
  }
  size_t at = to;
  while (at > from && items[at - 1].who > m->who) {
    items[at] = items[at - 1];
    at--;
  }
  items[at] = *m;
  *n = to + 1;
}

/* The moments of both pages, which are of the same blocks. NULL: no memory. */
static Page *merge(CtAlloc alloc, const Page *a, const Page *b) {
  size_t cap = a->n + b->n, n = 0, i = 0, j = 0;
  Page *p = new_page(alloc, a->id, cap);
  while (p != NULL && (i < a->n || j < b->n)) {
    bool from_a = j == b->n || (i < a->n && block_of(&a->items[i]) <= block_of(&b->items[j]));
    uint64_t block = block_of(from_a ? &a->items[i] : &b->items[j]);
    size_t from = n;
    for (; i < a->n && block_of(&a->items[i]) == block; i++) {
      p->items[n++] = a->items[i];
    }
    for (; j < b->n && block_of(&b->items[j]) == block; j++) {
      add_to_block(p->items, from, &n, &b->items[j]);
    }
  }
  if (p == NULL || n == cap) {
    return p;
  }
  Page *fit = new_page(alloc, a->id, n);
  if (fit != NULL) {
    memcpy(fit->items, p->items, n * sizeof *p->items);
  }
  ct_free(alloc, p, bytes_of_page(cap));
  return fit;
}

/* {====== Knowledge ====== */

static size_t bytes_of(size_t n) { return sizeof(CtKnowledge) + n * sizeof(Page *); }

static CtKnowledge *new_known(CtAlloc alloc, size_t n, bool is_behind) {
  CtKnowledge *k = ct_alloc(alloc, bytes_of(n));
  if (k != NULL) {
    *k = (CtKnowledge){.refs = 1, .n = (uint32_t)n, .is_behind = is_behind};
  }
  return k;
}

CtKnowledge *ct_known_share(CtKnowledge *k) {
  if (k != NULL) {
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
  }
  return k;
}

void ct_known_drop(CtAlloc alloc, CtKnowledge *k) {
  if (k != NULL && atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1) {
    for (uint32_t i = 0; i < k->n; i++) {
      drop_page(alloc, k->pages[i]);
    }
    ct_free(alloc, k, bytes_of(k->n));
  }
}

void ct_known_clear(CtAlloc alloc, CtKnowledge **to) {
  ct_known_drop(alloc, *to);
  *to = NULL;
}

bool ct_known_is_behind(const CtKnowledge *k) { return k != NULL && k->is_behind; }

static bool has_all(const CtKnowledge *a, const CtKnowledge *b) {
  uint32_t i = 0;
  for (uint32_t j = 0; j < b->n; j++) {
    while (i < a->n && a->pages[i]->id < b->pages[j]->id) {
      i++;
    }
    if (i == a->n || a->pages[i]->id != b->pages[j]->id ||
        (a->pages[i] != b->pages[j] && !includes(a->pages[i], b->pages[j]))) {
      return false;
    }
  }
  return a->is_behind || !b->is_behind;
}

/* The page with the moments of both; NULL: no memory. */
static Page *join_pages(CtAlloc alloc, Page *a, Page *b) {
  return a == b || includes(a, b) ? share_page(a)
         : includes(b, a)         ? share_page(b)
                                  : merge(alloc, a, b);
}

static CtKnowledge *join(CtAlloc alloc, const CtKnowledge *a, const CtKnowledge *b) {
  CtKnowledge *out = new_known(alloc, a->n + b->n, a->is_behind || b->is_behind);
  uint32_t n = 0, i = 0, j = 0;
  bool ok = out != NULL;
  while (ok && (i < a->n || j < b->n)) {
    bool in_a = i < a->n && (j == b->n || a->pages[i]->id <= b->pages[j]->id);
    bool in_b = j < b->n && (i == a->n || b->pages[j]->id <= a->pages[i]->id);
    out->pages[n] = in_a && in_b ? join_pages(alloc, a->pages[i], b->pages[j])
                                 : share_page(in_a ? a->pages[i] : b->pages[j]);
    ok = out->pages[n] != NULL;
    n += ok;
    i += in_a;
    j += in_b;
  }
  if (out == NULL || (ok && n == out->n)) {
    return out;
  }
  CtKnowledge *fit = ok ? new_known(alloc, n, out->is_behind) : NULL;
  for (uint32_t p = 0; p < n; p++) {
    if (fit != NULL) {
      fit->pages[p] = out->pages[p];
    } else {
      drop_page(alloc, out->pages[p]);
    }
  }
  ct_free(alloc, out, bytes_of(a->n + b->n));
  return fit;
}

bool ct_known_join(CtAlloc alloc, CtKnowledge **to, CtKnowledge *more) {
  CtKnowledge *old = *to, *all;
  if (more == NULL || old == more || (old != NULL && has_all(old, more))) {
    return true;
  }
  all = old == NULL || has_all(more, old) ? ct_known_share(more) : join(alloc, old, more);
  if (all == NULL) {
    return false;
  }
  *to = all;
  ct_known_drop(alloc, old);
  return true;
}

/* Adds n moments of one page, in order, whose `who` gets these bits, too. */
static bool add_moments(CtAlloc alloc, CtKnowledge **to, const CtMoment *m, size_t n,
                        uint64_t bits) {
  CtKnowledge *one = new_known(alloc, 1, false);
  Page *page = new_page(alloc, (m->who | bits) >> PAGE_SHIFT, n);
  if (one == NULL || page == NULL) {
    ct_free(alloc, one, bytes_of(1));
    ct_free(alloc, page, bytes_of_page(n));
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    page->items[i] = m[i];
    page->items[i].who |= bits;
  }
  one->pages[0] = page;
  bool ok = ct_known_join(alloc, to, one);
  ct_known_drop(alloc, one);
  return ok;
}

bool ct_known_add(CtAlloc alloc, CtKnowledge **to, const CtMoment *m) {
  return add_moments(alloc, to, m, 1, 0);
}

bool ct_known_set_behind(CtAlloc alloc, CtKnowledge **to) {
  if (ct_known_is_behind(*to)) {
    return true;
  }
  CtKnowledge *one = new_known(alloc, 0, true);
  bool ok = one != NULL && ct_known_join(alloc, to, one);
  ct_known_drop(alloc, one);
  return ok;
}

/* {====== Questions ====== */

/* The first page whose id is not less. */
static uint32_t find_page(const CtKnowledge *k, uint64_t id) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, k->n, k->pages[i]->id < id);
  return (uint32_t)i;
}

/* The first moment of the page whose `who` is not less. */
static uint32_t find_moment(const Page *p, uint64_t who) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, p->n, p->items[i].who < who);
  return (uint32_t)i;
}

/* The page that would have the moments from `who` on; NULL: none. */
static const Page *page_of(const CtKnowledge *k, uint64_t who) {
  uint32_t page = k == NULL ? 0 : find_page(k, who >> PAGE_SHIFT);
  return k == NULL || page == k->n || k->pages[page]->id != who >> PAGE_SHIFT ? NULL
                                                                              : k->pages[page];
}

/* The first of the n moments of that cluster. */
static const CtMoment *moments_of(const CtKnowledge *k, uint64_t first, size_t *n) {
  const Page *p = page_of(k, first);
  uint32_t i = p == NULL ? 0 : find_moment(p, first);
  *n = 0;
  while (p != NULL && i + *n < p->n && p->items[i + *n].who >> HOME_SHIFT == first >> HOME_SHIFT) {
    (*n)++;
  }
  return *n == 0 ? NULL : &p->items[i];
}

bool ct_known_add_for_agents(CtAlloc alloc, CtKnowledge **to, const CtKnowledge *from,
                             uint64_t first) {
  size_t n;
  const CtMoment *m = moments_of(from, first, &n);
  return m == NULL || add_moments(alloc, to, m, n, CT_WHO_FOR_AGENTS);
}

bool ct_known_add_for_tma(CtAlloc alloc, CtKnowledge **to, const CtKnowledge *from) {
  bool ok = true;
  for (uint32_t i = 0; ok && from != NULL && i < from->n; i++) {
    const Page *p = from->pages[i];
    bool is_plain = p->id < CT_WHO_FOR_TMA >> PAGE_SHIFT;
    ok = !is_plain || add_moments(alloc, to, p->items, p->n, CT_WHO_FOR_TMA);
  }
  return ok;
}

/* An agent's work is over only for those who know of a wait for it, by a row. */
static bool says(const CtMoment *m, const CtCheckEvent *old, int lane, const CtEventEnd *end) {
  if (m->row != NULL && m->row[end->component] >= end->clock) {
    return true;
  }
  int32_t warp = (int32_t)(m->who & ((1u << CT_WHO_WARP_BITS) - 1));
  int rank = (int)(m->who >> BLOCK_SHIFT & ((1u << CT_WHO_RANK_BITS) - 1));
  if (old->agent != CT_AGENT_NONE || rank != old->rank) {
    return false;
  }
  return m->epoch > end->epoch ||
         (warp == old->warp &&
          (m->sub > end->sub || (m->time > end->time && (m->lanes >> lane & 1) != 0)));
}

bool ct_known_has_news_of(const CtKnowledge *k, uint64_t who, uint32_t epoch) {
  uint64_t first = who >> BLOCK_SHIFT << BLOCK_SHIFT;
  const Page *p = page_of(k, first);
  bool has = false;
  for (uint32_t i = p == NULL ? 0 : find_moment(p, first);
       p != NULL && i < p->n && block_of(&p->items[i]) == first >> BLOCK_SHIFT && !has; i++) {
    has = p->items[i].lanes != 0 && p->items[i].epoch >= epoch;
  }
  return has;
}

/* Does one of the moments with these bits say so? */
static bool any_says(const CtKnowledge *k, const CtCheckEvent *old, int lane, uint64_t bits) {
  size_t n;
  CtEventEnd end;
  const CtMoment *m = moments_of(k, ct_known_who(old->job, old->home, 0, 0) | bits, &n);
  bool has = false, has_ended = m != NULL && ct_check_end_of(old, &end);
  for (size_t i = 0; has_ended && i < n && !has; i++) {
    has = says(&m[i], old, lane, &end);
  }
  return has;
}

bool ct_known_covers(const CtKnowledge *k, const CtCheckEvent *old, int lane) {
  return any_says(k, old, lane, 0);
}

bool ct_known_covers_for_tma(const CtKnowledge *k, const CtCheckEvent *old, int lane) {
  return any_says(k, old, lane, CT_WHO_FOR_TMA);
}

bool ct_known_covers_for_agents(const CtKnowledge *k, const CtCheckEvent *old, int lane) {
  size_t n;
  CtEventEnd end;
  const CtMoment *m = moments_of(k, ct_known_who(old->job, old->home, 0, 0), &n);
  bool has = false, has_ended = m != NULL && ct_check_end_of(old, &end);
  for (size_t i = 0; has_ended && i < n && !has; i++) {
    has = m[i].agents != NULL && m[i].agents[end.component] >= end.clock;
  }
  return has || any_says(k, old, lane, CT_WHO_FOR_AGENTS);
}

bool ct_known_has_job(const CtKnowledge *k, int first, int end) {
  uint64_t from = ct_known_who(first, 0, 0, 0);
  uint32_t page = k == NULL ? 0 : find_page(k, from >> PAGE_SHIFT);
  return k != NULL && page < k->n && (int)(k->pages[page]->id >> (JOB_SHIFT - PAGE_SHIFT)) < end;
}
