/* explore.c: `check` of a launch in other orders: see explore.h. The first run is the launch as it is, block after
   block. Then orders run that were not yet seen: first those with few races turned. */
#include "explore.h"

#include <stdio.h>
#include <string.h>

#include "check_parts.h"
#include "orders.h"
#include "runtime/base/hash_table.h"
#include "runtime/simt/run/simt_kept.h"

/* RESIDENT: clusters of a launch whose blocks meet that run at the same time. LISTED_BYTES: of all orders that wait to
   run. */
enum { RESIDENT = 8, LISTED_BYTES = 1 << 28 };

/* An order to run: the warps of its first events. */
typedef struct Listed {
  uint16_t *list;
  size_t n;
  int64_t block; /* of the race that was turned; -1: none was */
} Listed;

typedef struct Exploration {
  CtCheck *c;
  CtSimtEngine *engine;
  CtSimtEntry *entries; /* with launches of their own */
  CtSimtLaunch *launches;
  size_t n;
  CtSimtKept before, after;            /* memory before and after the first run, */
  CtBlanksKept written, written_after; /* and what was written of memory without contents */
  CtOrders *orders;
  Listed *waiting;
  size_t n_waiting, at_waiting, cap_waiting, listed_bytes;
  uint64_t *seen; /* hashes of orders and of lists that lead to one */
  size_t cap_seen;
  CtHashTable seen_at;
  CtExplored count;
  bool is_incomplete; /* something was left out */
  bool is_clean;      /* the first run found nothing */
  bool differs;       /* an order with another result was found */
  CtCheck *last;      /* that of the last run, until its findings are taken over */
  size_t n_found;     /* by it */
} Exploration;

/* --- what was seen ---------------------------------------------------------------------------------------- */

/* Is it new? */
static bool note_seen(Exploration *x, uint64_t key) {
  CtHashTable *t = &x->seen_at;
  if (!ct_hash_table_reserve(t, x->c->alloc) ||
      CT_GROW(x->c->alloc, x->seen, x->cap_seen, t->n + 1, NULL) != CT_OK) {
    x->is_incomplete = true;
    return false;
  }
  CtHashSlot *at = ct_hash_table_first(t, (uint32_t)key);
  while (at->number != 0 && x->seen[at->number - 1] != key) {
    at = ct_hash_table_next(t, at);
  }
  bool is_new = at->number == 0;
  if (is_new) {
    x->seen[t->n] = key;
    ct_hash_table_put(t, at, (uint32_t)key, (uint32_t)t->n + 1);
  }
  return is_new;
}

/* --- schedules -------------------------------------------------------------------------------------------- */

static const char *const policies[] = {
    [CT_ORDER_STAY] = "stay", [CT_ORDER_TURNS] = "turns", [CT_ORDER_RANDOM] = "random"};

static void put(CtText *t, const char *s) { ct_text_add(t, s, strlen(s)); }

static const char *keep_text(Exploration *x, CtText *t) {
  const char *text = ct_text_str(t);
  char *kept = text == NULL ? NULL : ct_arena_strdup(&x->c->texts, text, strlen(text));
  ct_text_clear(t);
  return kept;
}

/* The text that `check --schedule` reads; stdlib/microscope/schedule.lua is the reader. */
static const char *schedule_text(Exploration *x, CtOrderPolicy policy, uint64_t seed) {
  CtText t;
  char line[128];
  size_t n = 0;
  const CtOrderChoice *choices = ct_orders_choices(x->orders, &n);
  ct_text_init(&t, x->c->alloc);
  snprintf(line, sizeof line, "schedule of launch %llu: %s %llu\n",
           (unsigned long long)x->count.launch, policies[policy], (unsigned long long)seed);
  put(&t, line);
  for (size_t i = 0; policy == CT_ORDER_STAY && i < n; i++) {
    snprintf(line, sizeof line, "step %u: %u (", choices[i].step, choices[i].thread);
    put(&t, line);
    ct_orders_put_thread(x->orders, x->entries, choices[i].thread, &t);
    if (choices[i].late != 0) {
      put(&t, ", before the ");
      ct_orders_put_thread(x->orders, x->entries, choices[i].late - 1, &t);
    }
    put(&t, ")\n");
  }
  return keep_text(x, &t);
}

/* For the page of the schedule. */
static const char *events_text(Exploration *x) {
  CtText t;
  ct_text_init(&t, x->c->alloc);
  ct_orders_put_events(x->orders, x->entries, &t);
  return keep_text(x, &t);
}

/* The one other order that runs when nobody asks for orders needs no schedule: it runs each time. */
static bool tells_schedules(const Exploration *x) {
  return x->c->orders.n_orders != 0 || x->c->orders.has_schedule;
}

/* --- results --------------------------------------------------------------------------------------------------- */

/* The tensor of a launch that has this address. */
static const CtSimtBuf *tensor_at(const Exploration *x, const char *at, const CtSimtEntry **of,
                                  int64_t *off) {
  for (size_t i = 0; i < x->n; i++) {
    const CtSimtEntry *e = &x->entries[i];
    for (uint32_t b = 1; b < e->program->n_bufs; b++) {
      const CtSimtBuf *buf = &e->program->bufs[b];
      if (buf->space != CT_GLOBAL || buf->is_chosen) {
        continue;
      }
      const char *begin = e->launch->slots[buf->slot].ptr;
      if (at >= begin && at < begin + ct_simt_n_bytes(e->launch, buf)) {
        *of = e;
        *off = ct_dtype_count(buf->dtype, at - begin);
        return buf;
      }
    }
  }
  return NULL;
}

/* The bits of an element, as one number. */
static unsigned long long bits_at(const char *at, size_t bytes) {
  unsigned long long bits = 0;
  for (size_t i = bytes; i-- > 0;) {
    bits = bits << 8 | (unsigned char)at[i];
  }
  return bits;
}

/* Reports the first element that differs from what the first run left. */
static void compare_results(Exploration *x, CtOrderPolicy policy, uint64_t seed) {
  const char *at = ct_simt_first_change(&x->after);
  const CtSimtEntry *e = NULL;
  int64_t off = 0;
  const CtSimtBuf *buf = at == NULL ? NULL : tensor_at(x, at, &e, &off);
  if (buf == NULL) {
    return;
  }
  size_t bytes = ct_value_bytes(buf->dtype);
  int n_digits = ct_dtype_width(buf->dtype) / 4;
  const char *element =
      (const char *)e->launch->slots[buf->slot].ptr + ct_dtype_byte(buf->dtype, off);
  char text[256];
  snprintf(text, sizeof text,
           "order: %s[%lld] depends on the order of the warps: its bits are 0x%0*llx in the "
           "first order, and 0x%0*llx in the schedule below",
           buf->name, (long long)off, n_digits, bits_at(ct_simt_kept_at(&x->after, element), bytes),
           n_digits, bits_at(element, bytes));
  const CtLoc loc = e->program->locs[e->program->body];
  CtFinding f = {.kind = CT_CHECK_ORDER,
                 .kernel = e->program->name,
                 .chunk = e->program->chunks[loc.chunk],
                 .line = loc.line,
                 .buffer = buf->name,
                 .count = 1,
                 .rank = e->rank,
                 .text = text,
                 .schedule = schedule_text(x, policy, seed),
                 .events = events_text(x)};
  ct_finding_add_new(x->c, &f);
  x->differs = true;
}

/* --- one run -------------------------------------------------------------------------------------------------- */

/* Runs the launches under a check, or the parts of it. */
static CtStatus run_under(Exploration *x, CtCheck *check, CtSimtPlan *plan, CtErr *err) {
  bool joint = x->entries[0].rank >= 0;
  CtStatus status = joint ? ct_check_join(check, x->n, err) : CT_OK;
  for (size_t i = 0; i < x->n && status == CT_OK; i++) {
    x->launches[i].watch = joint ? ct_check_part(check, i) : ct_check_watch(check);
  }
  if (status == CT_OK) {
    status = ct_simt_run_planned(x->engine, x->entries, x->n, plan, err);
    if (joint) {
      ct_check_join_end(check);
    }
  }
  return status;
}

/* Runs them in the order that has begun, under a check of its own: x->last. */
static CtStatus run_once(Exploration *x, CtErr *err) {
  CtCheckOptions options = x->c->options;
  options.is_single = options.is_again = true;
  CtStatus status = ct_check_open(x->c->alloc, &options, &x->last, err);
  if (status != CT_OK) {
    return status;
  }
  CtErr why; /* what fails is a finding */
  ct_simt_put_back(&x->before);
  ct_blanks_put_back(&x->written);
  CtStatus ran = run_under(x, x->last, ct_orders_plan(x->orders), &why);
  x->n_found = ct_check_count(x->last);
  if ((ran == CT_ENOMEM || ran == CT_EINTERRUPTED) && err != NULL) {
    *err = why;
  }
  return ran == CT_ENOMEM || ran == CT_EINTERRUPTED ? ran : CT_OK;
}

/* Takes over the findings of the last run; those that are new come with its schedule. */
static void take_findings(Exploration *x, CtOrderPolicy policy, uint64_t seed) {
  const char *schedule = NULL, *events = NULL;
  x->count.n_found += x->n_found > 0;
  bool whole = ct_orders_end(x->orders) == CT_ORDER_WHOLE;
  for (size_t i = 0; i < x->n_found; i++) {
    CtFinding f = *ct_check_finding(x->last, i);
    if (ct_finding_is_new(x->c, &f)) {
      if (schedule == NULL && tells_schedules(x)) {
        schedule = schedule_text(x, policy, seed);
        events = events_text(x);
      }
      f.schedule = schedule;
      f.events = events;
      ct_finding_add_new(x->c, &f);
    }
  }
  if (x->n_found == 0 && whole && x->is_clean && !x->differs && tells_schedules(x)) {
    compare_results(x, policy, seed);
  }
}

static CtStatus run_order(Exploration *x, CtOrderPolicy policy, uint64_t seed, CtErr *err) {
  CtStatus status = run_once(x, err);
  if (status == CT_OK) { /* else the run was cut off */
    take_findings(x, policy, seed);
    x->count.n_run++;
  }
  ct_check_close(x->last);
  x->last = NULL;
  return status;
}

/* --- the search ------------------------------------------------------------------------------------------------- */

/* Blocks that do not meet are searched one after the other: any of their orders goes with any of another's. */
static bool is_wanted(const Exploration *x, const Listed *from, size_t race) {
  return x->count.n_resident == 0 || x->count.n_resident > 1 || from->block < 0 ||
         from->block == ct_orders_race_block(x->orders, race);
}

static void list_races(Exploration *x, const Listed *from) {
  for (size_t i = 0; i < ct_orders_n_races(x->orders); i++) {
    uint64_t sign;
    Listed next = {.block = ct_orders_race_block(x->orders, i)};
    if (!is_wanted(x, from, i)) {
      continue;
    }
    next.list = ct_orders_turn_race(x->orders, i, &next.n, &sign);
    bool is_new = next.list != NULL && note_seen(x, sign);
    size_t bytes = next.n * sizeof *next.list;
    bool fits = x->listed_bytes + bytes <= LISTED_BYTES &&
                CT_GROW(x->c->alloc, x->waiting, x->cap_waiting, x->n_waiting + 1, NULL) == CT_OK;
    if (is_new && fits) {
      x->waiting[x->n_waiting++] = next;
      x->listed_bytes += bytes;
    } else if (next.list != NULL) {
      ct_free(x->c->alloc, next.list, bytes);
    }
    x->is_incomplete = x->is_incomplete || next.list == NULL || !fits;
  }
}

/* What the last run tells of other orders. */
static void learn(Exploration *x, const Listed *from) {
  CtOrderEnd end = ct_orders_end(x->orders);
  int most = x->c->orders.n_preemptions;
  if (end == CT_ORDER_TOO_LARGE) {
    x->count.too_large = true;
    x->is_incomplete = true;
  } else if (end == CT_ORDER_NOT_POSSIBLE) {
    x->count.n_run--;
    x->is_incomplete = true;
  } else if (!note_seen(x, ct_orders_hash(x->orders))) {
    x->count.n_run--;
    x->count.n_same++;
  } else if (most < 0 || ct_orders_preemptions(x->orders) <= most) {
    list_races(x, from);
  } else {
    x->is_incomplete = true;
  }
}

static CtStatus search(Exploration *x, CtErr *err) {
  uint64_t limit = x->c->orders.n_orders < 0 ? UINT64_MAX : (uint64_t)x->c->orders.n_orders;
  Listed first = {.block = -1};
  ct_orders_begin(x->orders, NULL, 0, CT_ORDER_STAY, 0);
  CtStatus status = run_order(x, CT_ORDER_STAY, 0, err);
  if (status == CT_OK) {
    learn(x, &first);
  }
  while (status == CT_OK && x->at_waiting < x->n_waiting && x->count.n_run < limit) {
    Listed next = x->waiting[x->at_waiting++];
    ct_orders_begin(x->orders, next.list, next.n, CT_ORDER_STAY, 0);
    status = run_order(x, CT_ORDER_STAY, 0, err);
    if (status == CT_OK) {
      learn(x, &next);
    }
    ct_free(x->c->alloc, next.list, next.n * sizeof *next.list);
    x->listed_bytes -= next.n * sizeof *next.list;
  }
  x->count.n_left = x->n_waiting - x->at_waiting;
  x->count.is_whole = x->count.n_left == 0 && !x->is_incomplete;
  return status;
}

static CtStatus draw(Exploration *x, CtErr *err) {
  CtStatus status = CT_OK;
  uint64_t seed = x->c->orders.seed;
  for (int64_t i = 0; i < x->c->orders.n_orders && status == CT_OK; i++, seed++) {
    ct_orders_begin(x->orders, NULL, 0, CT_ORDER_RANDOM, seed);
    status = run_order(x, CT_ORDER_RANDOM, seed, err);
  }
  return status;
}

static CtStatus replay(Exploration *x, CtErr *err) {
  const CtCheckSchedule *s = &x->c->orders.schedule;
  CtOrderPolicy policy = (CtOrderPolicy)s->policy;
  if (s->launch != x->count.launch) {
    return CT_OK;
  }
  if (policy == CT_ORDER_STAY) {
    ct_orders_replay(x->orders, s->choices, s->n);
  } else {
    ct_orders_begin(x->orders, NULL, 0, policy, s->seed);
  }
  return run_order(x, policy, s->seed, err);
}

static CtStatus run_orders(Exploration *x, CtErr *err) {
  const CtExploreOptions *options = &x->c->orders;
  CtStatus status = ct_orders_open(
      x->c->alloc, x->count.n_resident == 0 ? RESIDENT : x->count.n_resident, &x->orders, err);
  if (status != CT_OK) {
    return status;
  }
  if (options->has_schedule) {
    return replay(x, err);
  }
  if (options->n_orders == 0) {
    ct_orders_begin(x->orders, NULL, 0, CT_ORDER_TURNS, 0);
    return run_order(x, CT_ORDER_TURNS, 0, err);
  }
  return options->seed != 0 ? draw(x, err) : search(x, err);
}

/* --- a launch ---------------------------------------------------------------------------------------------------- */

static bool meets(const CtSimtEntry *entries, size_t n) {
  bool found = n > 1 || entries[0].launch->is_cooperative;
  for (size_t i = 0; i < n; i++) {
    found = found || entries[i].program->meets;
  }
  return found;
}

/* Is there another order to be run? By default only of blocks that meet, one after the other in the first run. */
static bool is_asked(const CtCheck *c, const CtSimtEntry *entries, size_t n) {
  const CtSimtLaunch *l = entries[0].launch;
  bool several = l->grid[0] > 1 || l->grid[1] > 1 || l->grid[2] > 1;
  bool in_order = n == 1 && entries[0].rank < 0 && !l->is_cooperative;
  return c->orders.n_orders != 0 || c->orders.has_schedule ||
         (in_order && several && entries[0].program->meets);
}

static CtStatus copy_entries(Exploration *x, const CtSimtEntry *entries, size_t n, CtErr *err) {
  CtAlloc alloc = x->c->alloc;
  x->n = n;
  x->entries = ct_alloc(alloc, n * sizeof *x->entries);
  x->launches = ct_alloc(alloc, n * sizeof *x->launches);
  if (x->entries == NULL || x->launches == NULL) {
    return ct_fail_nomem(err);
  }
  for (size_t i = 0; i < n; i++) {
    x->launches[i] = *entries[i].launch;
    x->entries[i] = (CtSimtEntry){entries[i].program, &x->launches[i], entries[i].rank};
  }
  return CT_OK;
}

static CtStatus keep_blanks(const Exploration *x, CtBlanksKept *out, CtErr *err) {
  const CtBlanks *blanks = x->c->options.blanks;
  return blanks == NULL ? CT_OK : ct_blanks_keep(x->c->alloc, blanks, out, err);
}

static void close(Exploration *x) {
  CtAlloc alloc = x->c->alloc;
  for (; x->at_waiting < x->n_waiting; x->at_waiting++) {
    ct_free(alloc, x->waiting[x->at_waiting].list, x->waiting[x->at_waiting].n * sizeof(uint16_t));
  }
  ct_free(alloc, x->waiting, x->cap_waiting * sizeof *x->waiting);
  ct_free(alloc, x->seen, x->cap_seen * sizeof *x->seen);
  ct_hash_table_clear(&x->seen_at, alloc);
  if (x->entries != NULL) {
    ct_free(alloc, x->entries, x->n * sizeof *x->entries);
  }
  if (x->launches != NULL) {
    ct_free(alloc, x->launches, x->n * sizeof *x->launches);
  }
  ct_orders_close(x->orders);
  ct_simt_drop(&x->before);
  ct_simt_drop(&x->after);
  ct_blanks_drop(alloc, &x->written);
  ct_blanks_drop(alloc, &x->written_after);
}

static CtStatus note_count(Exploration *x, CtErr *err) {
  CtCheck *c = x->c;
  CtStatus status = CT_GROW(c->alloc, c->explored, c->cap_explored, c->n_explored + 1, err);
  const char *name = x->entries[0].program->name;
  x->count.kernel = ct_arena_strdup(&c->texts, name, strlen(name));
  if (status == CT_OK && x->count.kernel != NULL && c->orders.n_orders != 0) {
    c->explored[c->n_explored++] = x->count;
  }
  return status;
}

/* The first run is over. */
static CtStatus explore(Exploration *x, CtErr *err) {
  CtStatus status = ct_simt_keep(x->c->alloc, x->entries, x->n, &x->after, err);
  status = status == CT_OK ? keep_blanks(x, &x->written_after, err) : status;
  if (status != CT_OK) {
    return status;
  }
  x->count.n_resident = x->entries[0].launch->is_cooperative ? 0
                        : meets(x->entries, x->n)            ? RESIDENT
                                                             : 1;
  x->count.launch = x->c->n_launches;
  status = run_orders(x, err);
  ct_simt_put_back(&x->after);
  ct_blanks_put_back(&x->written_after);
  return status == CT_OK ? note_count(x, err) : status;
}

CtStatus ct_explore(CtCheck *c, CtSimtEngine *engine, const CtSimtEntry *entries, size_t n,
                    CtErr *err) {
  Exploration x = {
      .c = c, .engine = engine, .before = {.alloc = c->alloc}, .after = {.alloc = c->alloc}};
  CtStatus status = copy_entries(&x, entries, n, err);
  bool asked = status == CT_OK && is_asked(c, entries, n);
  status = asked ? ct_simt_keep(c->alloc, entries, n, &x.before, err) : status;
  status = asked && status == CT_OK ? keep_blanks(&x, &x.written, err) : status;
  uint64_t n_before = ct_finding_total(c);
  status = status == CT_OK ? run_under(&x, c, NULL, err) : status;
  x.is_clean = ct_finding_total(c) == n_before;
  for (size_t i = 0; asked && i < n; i++) {
    x.launches[i].print = NULL;
  }
  status = status == CT_OK && asked ? explore(&x, err) : status;
  close(&x);
  return status;
}

CtStatus ct_explore_ask(CtCheck *c, const CtExploreOptions *options, CtErr *err) {
  size_t bytes = (options->schedule.n + 1) * sizeof(CtOrderChoice);
  CtOrderChoice *choices = ct_arena_alloc(&c->texts, bytes);
  if (choices == NULL) {
    return ct_fail_nomem(err);
  }
  if (options->schedule.n > 0) {
    memcpy(choices, options->schedule.choices, bytes - sizeof *choices);
  }
  c->orders = *options;
  c->orders.schedule.choices = choices;
  return CT_OK;
}

size_t ct_explore_count(const CtCheck *c) { return c->n_explored; }
const CtExplored *ct_explored(const CtCheck *c, size_t i) { return &c->explored[i]; }
