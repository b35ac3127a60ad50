/* check_finding.c: what `check` found. During the launch each worker keeps findings in a few
   words, by instruction. At the end of the launch they are put together by line, and check_text.c says them. */
#include "check_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/order.h"

const CtCheckRow ct_check_rows[CT_CHECK_COUNT] = {
#define X(NAME, ...) [CT_CHECK_##NAME] = {__VA_ARGS__},
#include "check.def"
};

const char *const ct_check_names[CT_CHECK_COUNT] = {
#define X(NAME, name, ...) [CT_CHECK_##NAME] = name,
#include "check.def"
};

const char *const ct_check_ids[CT_CHECK_COUNT] = {
#define X(NAME, name, id, ...) [CT_CHECK_##NAME] = id,
#include "check.def"
};

/* --- while the launch runs ------------------------------------------------------------------------------ */

static const CtSimtProgram *other_program(const CtFound *f) {
  return f->other_job == NULL ? NULL : f->other_job->program;
}

static bool is_same_place(const CtFound *a, const CtFound *b) {
  return a->kind == b->kind && a->in == b->in && a->other == b->other && a->buf == b->buf &&
         other_program(a) == other_program(b);
}

/* The order of races as examples: between blocks first, then between warps. Whatever orders the
   former also orders the rest. */
static int rank_of(const CtFound *f) {
  bool is_race = ct_found_is_race(f);
  return !is_race || (f->how & CT_RACE_BLOCKS) != 0 ? 0 : (f->how & CT_RACE_IN_WARP) != 0 ? 2 : 1;
}

/* Is a the better example? */
static bool is_lower(const CtFound *a, const CtFound *b) {
  if (rank_of(a) != rank_of(b)) {
    return rank_of(a) < rank_of(b);
  }
  if (a->other_job != b->other_job && a->other_job != NULL && b->other_job != NULL) {
    return a->other_job->number < b->other_job->number;
  }
  if (a->block != b->block) {
    return a->block < b->block;
  }
  if (a->other_block != b->other_block) {
    return a->other_block < b->other_block;
  }
  if (a->thread != b->thread) {
    return a->thread < b->thread;
  }
  return a->other_thread != b->other_thread ? a->other_thread < b->other_thread : a->off < b->off;
}

static void add_to(CtFound *old, const CtFound *f) {
  uint64_t count = old->count + f->count;
  if (is_lower(f, old)) {
    *old = *f;
  }
  old->count = count;
}

CtFound ct_finding_of(const CtCheckWorker *k, CtCheckKind kind, const CtAccess *a, int lane,
                      int64_t off) {
  CtFound f = ct_finding_in(k, kind, a->in, a->w->index, lane);
  f.buf = a->buf_index;
  f.begin = a->mem->ptr;
  f.block = a->w->worker->block;
  f.off = off;
  return f;
}

void ct_finding_note(CtCheckWorker *k, const CtFound *f) {
  for (size_t i = k->n_found; i-- > 0;) {
    if (is_same_place(&k->found[i], f)) {
      add_to(&k->found[i], f);
      return;
    }
  }
  if (CT_GROW(k->check->alloc, k->found, k->cap_found, k->n_found + 1, NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  k->found[k->n_found++] = *f;
}

void ct_finding_note_text(CtCheckWorker *k, CtFound f, const char *text) {
  f.other = UINT32_MAX;
  f.count = 1;
  f.text = ct_arena_strdup(&k->texts, text, strlen(text));
  k->no_memory = k->no_memory || f.text == NULL;
  if (f.text != NULL) {
    ct_finding_note(k, &f);
  }
}

/* What is said of the two accesses: CT_RACE_*. */
static int how_of(const CtCheckWorker *k, const CtCheckEvent *a, bool a_writes,
                  const CtCheckEvent *b, bool b_writes) {
  bool ranks = a->job != b->job, blocks = a->block != b->block || ranks;
  bool in_warp = !blocks && a->warp == b->warp;
  int how = a_writes && b_writes ? CT_RACE_WRITE_WRITE
            : a_writes           ? CT_RACE_WRITE_READ
                                 : CT_RACE_READ_WRITE;
  if (in_warp && a_writes && b_writes && a->in == b->in && a->ordinal == b->ordinal &&
      a->component == b->component && a->clock == b->clock) {
    how = CT_RACE_AT_ONCE;
  }
  return how | (in_warp ? CT_RACE_IN_WARP : 0) | (blocks ? CT_RACE_BLOCKS : 0) |
         (k->clocks != NULL ? CT_RACE_CLOCKS : 0) | (ranks ? CT_RACE_RANKS : 0) |
         (a->atomic != 0 && b->atomic != 0 ? CT_RACE_WIDTHS : 0);
}

void ct_finding_race(CtCheckWorker *k, CtCheckKind kind, const CtCheckEvent *a, int lane_a,
                     bool a_writes, const CtCheckEvent *b, int lane_b, bool b_writes, uint32_t buf,
                     int64_t off) {
  k->n_races++;
  CtFound f = {.kind = kind,
               .in = b->in,
               .other = a->in,
               .buf = buf,
               .begin = k->begin,
               .how = (uint8_t)how_of(k, a, a_writes, b, b_writes),
               .count = 1,
               .block = b->block,
               .other_block = a->block,
               .thread = ct_check_thread(b->warp, lane_b),
               .other_thread = ct_check_thread(a->warp, lane_a),
               .off = off,
               .agent = b->agent,
               .other_agent = a->agent};
  if (a->job != b->job) {
    f.job = &k->k->job->group->jobs[b->job];
    f.other_job = &k->k->job->group->jobs[a->job];
    f.extra = k->rank_cause;
  }
  if (kind == CT_CHECK_TENSOR) {
    f.extra = k->lacks_after;
  }
  ct_finding_note(k, &f);
}

/* --- the launch's end ---------------------------------------------------------------------------------------- */

static CtLoc loc_of(const CtSimtProgram *p, uint32_t in) {
  return in == UINT32_MAX ? (CtLoc){0} : p->locs[in];
}

/* The memory that a buffer of a launch may be, of which it has n parts. */
static const CtSimtSpan *spans_of(const CtSimtJob *job, const CtSimtBuf *buf, CtSimtSpan *own,
                                  size_t *n) {
  const CtSimtLaunch *l = job->launch;
  *n = 0;
  if (buf->space != CT_GLOBAL) {
    return NULL;
  }
  if (buf->list != 0) {
    const CtSimtList *list = &l->lists[job->program->bufs[buf->list].param];
    *n = (size_t)list->n;
    return list->members;
  }
  if (buf->is_chosen) {
    *n = l->n_memory;
    return l->memory;
  }
  char *begin = l->slots[buf->slot].ptr;
  *own = (CtSimtSpan){begin, begin + ct_simt_n_bytes(l, buf)};
  *n = 1;
  return own;
}

/* The buffer of a launch that has this address, and its element there; 0: none. */
static uint32_t find_buffer(const CtSimtJob *job, const char *at, const char **begin,
                            int64_t *off) {
  for (uint32_t b = 1; b < job->program->n_bufs; b++) {
    const CtSimtBuf *buf = &job->program->bufs[b];
    CtSimtSpan own;
    size_t n;
    const CtSimtSpan *spans = spans_of(job, buf, &own, &n);
    for (size_t i = 0; i < n; i++) {
      if (at >= spans[i].begin && at < spans[i].end) {
        *begin = spans[i].begin;
        *off = ct_dtype_count(buf->dtype, at - *begin);
        return b;
      }
    }
  }
  return 0;
}

/* A race of two ranks is told as seen by the one that reads, else by the later line; so are two sums. It is the same in
   each run, whichever came first. */
static void turn_ranks(CtFound *f) {
  const CtSimtJob *job = f->other_job;
  if (job == NULL) {
    return;
  }
  bool is_race = ct_found_is_race(f);
  int how = is_race ? f->how & CT_RACE_HOW : CT_RACE_WRITE_WRITE,
      line = f->job->program->locs[f->in].line;
  int other_line = job->program->locs[f->other].line;
  bool later = other_line != line ? other_line > line : job->number > f->job->number;
  const CtSimtBuf *buf = &f->job->program->bufs[f->buf];
  const char *begin, *at = f->begin + ct_dtype_byte(buf->dtype, f->off);
  int64_t off;
  bool turns = how == CT_RACE_READ_WRITE || (how == CT_RACE_WRITE_WRITE && later);
  uint32_t found = turns ? find_buffer(job, at, &begin, &off) : 0;
  if (found == 0) {
    return;
  }
  CtFound old = *f;
  if (is_race) {
    f->how = (uint8_t)((f->how & ~CT_RACE_HOW) |
                       (how == CT_RACE_READ_WRITE ? CT_RACE_WRITE_READ : CT_RACE_WRITE_WRITE));
  }
  f->job = old.other_job;
  f->other_job = old.job;
  f->block = old.other_block;
  f->other_block = old.block;
  ct_found_turn(f);
  f->buf = found;
  f->begin = begin;
  f->off = off;
}

typedef struct Sorted {
  CtFound f;
  CtLoc loc, other;
} Sorted;

static int compare(const void *a, const void *b) {
  const Sorted *x = a, *y = b;
  const int64_t pairs[][2] = {{x->loc.chunk, y->loc.chunk},
                              {x->loc.line, y->loc.line},
                              {x->f.kind, y->f.kind},
                              {x->other.chunk, y->other.chunk},
                              {x->other.line, y->other.line},
                              {x->f.buf, y->f.buf},
                              {rank_of(&x->f), rank_of(&y->f)},
                              {x->f.block, y->f.block},
                              {x->f.other_block, y->f.other_block},
                              {x->f.thread, y->f.thread},
                              {x->f.other_thread, y->f.other_thread},
                              {x->f.off, y->f.off}};
  return CT_COMPARE_PAIRS(pairs);
}

/* The launch that a finding is of. */
static const CtSimtJob *job_of(const CtCheck *c, const CtFound *f) {
  return f->job == NULL ? c->job : f->job;
}

/* Are two findings the same for the user? Buffers of one tensor count as one. */
static bool is_same_line(const CtCheck *c, const Sorted *a, const Sorted *b) {
  const char *x = job_of(c, &a->f)->program->bufs[a->f.buf].name;
  const char *y = job_of(c, &b->f)->program->bufs[b->f.buf].name;
  return a->f.kind == b->f.kind && a->loc.chunk == b->loc.chunk && a->loc.line == b->loc.line &&
         a->other.chunk == b->other.chunk && a->other.line == b->other.line &&
         (x == NULL || y == NULL ? x == y : strcmp(x, y) == 0);
}

static Sorted *gather(CtCheck *c, size_t *n) {
  *n = 0;
  for (int i = 0; i < c->n_workers; i++) {
    c->no_memory = c->no_memory || c->workers[i].no_memory;
    *n += c->workers[i].n_found;
  }
  Sorted *all = *n == 0 ? NULL : ct_arena_alloc(&c->arena, *n * sizeof *all);
  size_t at = 0;
  for (int i = 0; all != NULL && i < c->n_workers; i++) {
    for (size_t j = 0; j < c->workers[i].n_found; j++) {
      CtFound f = c->workers[i].found[j];
      ct_order_turn_race(c->job->program, &f);
      turn_ranks(&f);
      const CtSimtProgram *p = job_of(c, &f)->program;
      all[at++] =
          (Sorted){.f = f,
                   .loc = loc_of(p, f.in),
                   .other = loc_of(f.other_job == NULL ? p : f.other_job->program, f.other)};
    }
  }
  if (all != NULL) {
    qsort(all, *n, sizeof *all, compare);
  }
  return all;
}

static const char *keep(CtCheck *c, const char *s) {
  return s == NULL ? NULL : ct_arena_strdup(&c->texts, s, strlen(s));
}

static CtFinding finding_of(CtCheck *c, const Sorted *s) {
  const CtSimtJob *job = job_of(c, &s->f);
  const CtSimtProgram *p = job->program;
  const CtSimtProgram *other = s->f.other_job == NULL ? p : s->f.other_job->program;
  bool has_other = s->f.other != UINT32_MAX;
  CtText text;
  ct_text_init(&text, c->alloc);
  ct_check_put_text(&text, job, &s->f);
  CtFinding f = {.kind = s->f.kind,
                 .kernel = keep(c, p->name),
                 .chunk = keep(c, p->chunks[s->loc.chunk]),
                 .other_chunk = has_other ? keep(c, other->chunks[s->other.chunk]) : NULL,
                 .line = s->loc.line,
                 .other_line = has_other ? s->other.line : 0,
                 .buffer = s->f.buf == 0 ? NULL : keep(c, p->bufs[s->f.buf].name),
                 .count = s->f.count,
                 .rank = job->rank,
                 .text = keep(c, ct_text_str(&text))};
  ct_text_clear(&text);
  ct_check_thread_of(p, s->f.thread, f.thread);
  ct_check_block_of(job, s->f.block, f.block);
  return f;
}

static bool is_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The finding of an earlier launch at the same place, or NULL. */
static CtFinding *find_earlier(CtCheck *c, size_t n, const CtFinding *f) {
  for (size_t i = 0; i < n; i++) {
    CtFinding *old = &c->findings[i];
    if (old->kind == f->kind && old->line == f->line && old->other_line == f->other_line &&
        is_text(old->kernel, f->kernel) && is_text(old->chunk, f->chunk) &&
        is_text(old->other_chunk, f->other_chunk) && is_text(old->buffer, f->buffer)) {
      return old;
    }
  }
  return NULL;
}

/* Is this a coordinate in a line that also accesses the buffer out of bounds? That finding says
   more. */
static bool is_told(const CtCheck *c, const Sorted *all, size_t n, const Sorted *s) {
  for (size_t i = 0; s->f.kind == CT_CHECK_COORDINATE && i < n; i++) {
    Sorted as = all[i];
    as.f.kind = CT_CHECK_COORDINATE;
    if (all[i].f.kind == CT_CHECK_BOUNDS && is_same_line(c, &as, s)) {
      return true;
    }
  }
  return false;
}

/* Adds a finding, or its count if an earlier launch found the same. */
static void add_finding(CtCheck *c, size_t n_earlier, CtFinding f) {
  CtFinding *old = find_earlier(c, n_earlier, &f);
  if (old != NULL) {
    old->count += f.count;
  } else if (f.text == NULL || f.kernel == NULL ||
             CT_GROW(c->alloc, c->findings, c->cap_findings, c->n_findings + 1, NULL) != CT_OK) {
    c->no_memory = true;
  } else {
    c->findings[c->n_findings++] = f;
  }
}

/* Its texts become those of c. */
static CtFinding own(CtCheck *c, const CtFinding *of) {
  CtFinding f = *of;
  f.kernel = keep(c, f.kernel);
  f.chunk = keep(c, f.chunk);
  f.other_chunk = keep(c, f.other_chunk);
  f.buffer = keep(c, f.buffer);
  f.text = keep(c, f.text);
  return f;
}

uint64_t ct_finding_total(const CtCheck *c) {
  uint64_t n = 0;
  for (size_t i = 0; i < c->n_findings; i++) {
    n += c->findings[i].count;
  }
  return n;
}

bool ct_finding_is_new(CtCheck *c, const CtFinding *f) {
  return find_earlier(c, c->n_findings, f) == NULL;
}

void ct_finding_add_new(CtCheck *c, const CtFinding *f) {
  if (ct_finding_is_new(c, f)) {
    add_finding(c, c->n_findings, own(c, f));
  }
}

/* What two ranks find at the same lines is one finding. */
void ct_finding_take(CtCheck *c, const CtCheck *part) {
  for (size_t i = 0; i < part->n_findings; i++) {
    add_finding(c, c->n_findings, own(c, &part->findings[i]));
  }
  c->no_memory = c->no_memory || part->no_memory;
}

void ct_finding_merge(CtCheck *c) {
  size_t n, n_earlier = c->n_findings;
  Sorted *all = gather(c, &n);
  c->no_memory = c->no_memory || (n > 0 && all == NULL);
  for (size_t i = 0, next; all != NULL && i < n; i = next) { /* the first has the best example */
    for (next = i + 1; next < n && is_same_line(c, &all[i], &all[next]); next++) {
      all[i].f.count += all[next].f.count;
    }
    if (!is_told(c, all, n, &all[i])) {
      add_finding(c, n_earlier, finding_of(c, &all[i]));
    }
  }
}
