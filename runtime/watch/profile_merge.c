/* profile_merge.c: neighbours that a compiler may merge; see profile_merge.h. */
#include "profile_merge.h"

#include <string.h>

#include "profile_site.h"

enum { MAX_SIZE = CT_MERGE_LEVELS - 1 };

static uint16_t bits_of(int place, int size) {
  return (uint16_t)(((1u << (1 << size)) - 1) << place);
}

static int size_of(int bytes) { return __builtin_ctz((unsigned)bytes); }

bool ct_merge_wants(const CtProfileSite *s, const CtProfileAt *at) {
  bool is_memory = at->space == CT_SHARED || at->space == CT_GLOBAL;
  bool fits = ct_dtype_span(at->dtype, s->width.vec) <= CT_MERGE_BYTES;
  return fits && is_memory && !s->is_atomic && !s->is_async && !s->is_box && !s->is_matrix;
}

/* --- counting a run ----------------------------------------------------------------------------------------- */

typedef struct Piece {
  int place, size;
} Piece;

/* May these bytes be one request, if neighbours are merged up to 1 << most bytes? All of them wait. */
static bool is_piece(const CtMergeRun *run, Piece p, int most) {
  bool is_own = run->size[p.place] == p.size, fits = p.size <= most;
  for (int i = p.place; i < p.place + (1 << p.size) && fits; i++) {
    fits = run->size[i] <= p.size; /* none is cut */
  }
  return is_own || fits;
}

/* The requests that the run is at a level: the widest first. */
static int split(const CtMergeRun *run, int level, Piece out[CT_MERGE_BYTES]) {
  int n = 0, most = level < run->align ? level : run->align;
  unsigned rest = run->covered;
  for (int size = MAX_SIZE; size >= 0; size--) {
    for (int place = 0; place < CT_MERGE_BYTES; place += 1 << size) {
      unsigned bits = bits_of(place, size);
      if ((rest & bits) == bits && is_piece(run, (Piece){place, size}, most)) {
        out[n++] = (Piece){place, size};
        rest &= ~bits;
      }
    }
  }
  return n;
}

static CtProfileMem cost_of(const CtMergeRun *run, Piece p, const CtMergeSink *to) {
  CtProfileMem cost = {0};
  uint32_t site = run->site[p.place];
  CtProfileRequest r = {.mask = run->mask, .bytes = 1 << p.size};
  for (uint32_t rest = r.mask; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    r.at[lane] = run->at[lane] + p.place;
  }
  ct_profile_cost(&to->sites[site], &to->ats[site], &r, &cost);
  return cost;
}

static CtProfileMerged *merged_of(const CtMergeSink *to, uint32_t site) {
  return to->only != NULL ? to->only : &to->merged[site];
}

static void count(const CtMergeRun *run, const CtMergeSink *to) {
  CtProfileMem costs[CT_MERGE_BYTES][CT_MERGE_LEVELS]; /* by place and size */
  uint32_t known[CT_MERGE_BYTES] = {0};
  for (int level = 0; level < CT_MERGE_LEVELS; level++) {
    Piece pieces[CT_MERGE_BYTES];
    int n = split(run, level, pieces);
    for (int i = 0; i < n; i++) {
      Piece p = pieces[i];
      if ((known[p.place] >> p.size & 1) == 0) {
        known[p.place] |= 1u << p.size;
        costs[p.place][p.size] = cost_of(run, p, to);
      }
      CtProfileMerged *m = merged_of(to, run->site[p.place]);
      ct_profile_add_mem(&m->at[level], &costs[p.place][p.size]);
      m->sizes[level][p.size]++;
    }
  }
}

/* --- the window ----------------------------------------------------------------------------------------------- */

static CtMergeRun *run_at(CtMergeWindow *w, uint32_t i) {
  return &w->runs[(w->oldest + i) % CT_MERGE_RUNS];
}

void ct_merge_flush(CtMergeWindow *w, const CtMergeSink *to) {
  for (uint32_t i = 0; i < w->n; i++) {
    count(run_at(w, i), to);
  }
  w->n = w->oldest = 0;
}

/* Counts those of the tensor that the new request must not be moved over. */
static void flush_others(CtMergeWindow *w, const CtMergeSink *to, uint32_t buf, bool reads,
                         bool writes) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->n; i++) {
    CtMergeRun *run = run_at(w, i);
    if (run->buf == buf && (run->reads != reads || run->writes != writes)) {
      count(run, to);
    } else {
      *run_at(w, n) = *run;
      n++;
    }
  }
  w->n = n;
}

static bool has_others(CtMergeWindow *w, uint32_t buf, bool reads, bool writes) {
  bool any = false;
  for (uint32_t i = 0; i < w->n; i++) {
    const CtMergeRun *run = run_at(w, i);
    any = any || (run->buf == buf && (run->reads != reads || run->writes != writes));
  }
  return any;
}

void ct_merge_over(CtMergeWindow *w, const CtMergeSink *to, uint32_t site) {
  const CtProfileSite *s = &to->sites[site];
  if (has_others(w, s->buf, s->reads, s->writes)) {
    flush_others(w, to, s->buf, s->reads, s->writes);
  }
}

static bool is_neighbour(const CtMergeRun *run, const CtProfileRequest *r, int64_t place) {
  for (uint32_t rest = r->mask; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (r->at[lane] - run->at[lane] != place) {
      return false;
    }
  }
  return true;
}

static CtMergeRun *find_run(CtMergeWindow *w, const CtProfileSite *s, const CtProfileRequest *r,
                            int64_t place) {
  int first = __builtin_ctz(r->mask);
  for (uint32_t i = w->n; i-- > 0;) {
    CtMergeRun *run = run_at(w, i);
    if (run->mask == r->mask && run->at[first] == r->at[first] - place && run->buf == s->buf &&
        run->reads == s->reads && run->writes == s->writes && is_neighbour(run, r, place)) {
      return run;
    }
  }
  return NULL;
}

/* How far all lanes lie alike, as a power of two of bytes. */
static uint8_t common_alignment(const CtProfileRequest *r) {
  int first = __builtin_ctz(r->mask);
  uint64_t differences = CT_MERGE_BYTES;
  for (uint32_t rest = r->mask; rest != 0; rest &= rest - 1) {
    differences |= (uint64_t)(r->at[__builtin_ctz(rest)] - r->at[first]);
  }
  return (uint8_t)__builtin_ctzll(differences);
}

/* Each part that lies alike in all lanes waits as a whole or not at all, or is one request. */
static bool is_closed(const CtMergeRun *run) {
  bool closed = true;
  for (int place = 0; place < CT_MERGE_BYTES; place += 1 << run->align) {
    uint16_t bits = bits_of(place, run->align), here = run->covered & bits;
    closed = closed && (here == 0 || here == bits);
  }
  return closed;
}

static CtMergeRun *new_run(CtMergeWindow *w, const CtMergeSink *to, const CtProfileSite *s,
                           const CtProfileRequest *r, int64_t place) {
  if (w->n == CT_MERGE_RUNS) {
    w->has_lost = w->has_lost || !is_closed(run_at(w, 0));
    count(run_at(w, 0), to);
    w->oldest = (w->oldest + 1) % CT_MERGE_RUNS;
    w->n--;
  }
  CtMergeRun *run = run_at(w, w->n++);
  run->mask = r->mask;
  run->buf = s->buf;
  run->reads = s->reads;
  run->writes = s->writes;
  run->align = common_alignment(r);
  run->covered = 0;
  for (uint32_t rest = r->mask; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    run->at[lane] = r->at[lane] - place;
  }
  return run;
}

/* Counts a run before others do, and empties it. */
static void renew(CtMergeRun *run, const CtMergeSink *to) {
  count(run, to);
  run->covered = 0;
}

/* One that cannot be merged, as it is not aligned. */
static void count_alone(const CtMergeSink *to, uint32_t site, const CtProfileRequest *r) {
  CtProfileMem cost = {0};
  ct_profile_cost(&to->sites[site], &to->ats[site], r, &cost);
  for (int level = 0; level < CT_MERGE_LEVELS; level++) {
    ct_profile_add_mem(&merged_of(to, site)->at[level], &cost);
    merged_of(to, site)->sizes[level][size_of(r->bytes)]++;
  }
}

/* The value is known. Where the same site has asked for it, that is so each time. */
static void note_repeated(const CtMergeSink *to, uint32_t site, uint32_t first,
                          const CtProfileRequest *r) {
  CtProfileMerged *m = merged_of(to, site);
  if (first != site) {
    ct_profile_cost(&to->sites[site], &to->ats[site], r, &m->repeated);
    m->repeated_sizes[size_of(r->bytes)]++;
  }
}

void ct_merge_add(CtMergeWindow *w, const CtMergeSink *to, uint32_t site,
                  const CtProfileRequest *r) {
  const CtProfileSite *s = &to->sites[site];
  int64_t at = r->at[__builtin_ctz(r->mask)], place = at & (CT_MERGE_BYTES - 1);
  if (at % r->bytes != 0) {
    count_alone(to, site, r);
    return;
  }
  int size = size_of(r->bytes);
  uint16_t bits = bits_of((int)place, size);
  ct_merge_over(w, to, site);
  CtMergeRun *run = find_run(w, s, r, place);
  if (run == NULL) {
    run = new_run(w, to, s, r, place);
  } else if ((run->covered & bits) == bits && run->stretch == w->stretch) {
    note_repeated(to, site, run->site[place], r);
    return;
  } else if ((run->covered & bits) != 0) {
    renew(run, to);
  }
  run->stretch = w->stretch;
  run->covered |= bits;
  for (int i = (int)place; i < (int)place + r->bytes; i++) {
    run->size[i] = (uint8_t)size;
    run->site[i] = site;
  }
}

bool ct_merge_is_closed(const CtMergeWindow *w) {
  bool closed = !w->has_lost;
  for (uint32_t i = 0; i < w->n; i++) {
    closed = closed && is_closed(&w->runs[(w->oldest + i) % CT_MERGE_RUNS]);
  }
  return closed;
}

static void sum_level(CtProfileMerged *to, int level, const CtProfileMem *cost,
                      const uint64_t sizes[CT_MERGE_LEVELS]) {
  ct_profile_add_mem(&to->at[level], cost);
  for (int size = 0; size < CT_MERGE_LEVELS; size++) {
    to->sizes[level][size] += sizes[size];
  }
}

void ct_merge_sum(CtProfileMerged *to, const CtProfileMerged *m) {
  for (int level = 0; level < CT_MERGE_LEVELS; level++) {
    sum_level(to, level, &m->at[level], m->sizes[level]);
    to->repeated_sizes[level] += m->repeated_sizes[level];
  }
  ct_profile_add_mem(&to->repeated, &m->repeated);
}

void ct_merge_settle(CtProfileMerged *m, uint64_t requests) {
  for (int level = 0; level < CT_MERGE_LEVELS && m->repeated.requests < requests; level++) {
    sum_level(m, level, &m->repeated, m->repeated_sizes);
  }
}
