/* check_finding.c: what `check` found. During the launch each worker keeps findings in a few
   words, by instruction. At the end of the launch they become texts, by line. */
#include "check_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ct_check_names[CT_CHECK_COUNT] = {
#define X(NAME, name) [CT_CHECK_##NAME] = name,
#include "check.def"
};

/* --- while the launch runs ------------------------------------------------------------------------------ */

static bool is_same_place(const CtFound *a, const CtFound *b) {
  return a->kind == b->kind && a->in == b->in && a->other == b->other && a->buf == b->buf;
}

/* The order of races as examples: between blocks first, then between warps. Whatever orders the
   former also orders the rest. */
static int rank_of(const CtFound *f) {
  bool is_race = f->kind == CT_CHECK_RACE_SHARED || f->kind == CT_CHECK_RACE_GLOBAL;
  return !is_race || (f->how & CT_RACE_BLOCKS) != 0 ? 0 : (f->how & CT_RACE_IN_WARP) != 0 ? 2 : 1;
}

/* Is a the better example? */
static bool is_lower(const CtFound *a, const CtFound *b) {
  if (rank_of(a) != rank_of(b)) {
    return rank_of(a) < rank_of(b);
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

void ct_finding_note(CtCheckWorker *k, const CtFound *f) {
  for (size_t i = k->n_found; i-- > 0;) {
    if (is_same_place(&k->found[i], f)) {
      add_to(&k->found[i], f);
      return;
    }
  }
  if (ct_grow(k->check->alloc, &k->found, &k->cap_found, k->n_found + 1, sizeof *k->found, NULL) !=
      CT_OK) {
    k->no_memory = true;
    return;
  }
  k->found[k->n_found++] = *f;
}

void ct_finding_note_text(CtCheckWorker *k, CtFound f, const char *text) {
  f.kind = CT_CHECK_BARRIER;
  f.other = UINT32_MAX;
  f.count = 1;
  f.text = ct_arena_strdup(&k->texts, text, strlen(text));
  k->no_memory = k->no_memory || f.text == NULL;
  if (f.text != NULL) {
    ct_finding_note(k, &f);
  }
}

void ct_finding_race(CtCheckWorker *k, CtCheckKind kind, const CtEvent *a, int lane_a,
                     bool a_writes, const CtEvent *b, int lane_b, bool b_writes, uint32_t buf,
                     int64_t off) {
  int how = a_writes && b_writes ? CT_RACE_WRITE_WRITE
            : a_writes           ? CT_RACE_WRITE_READ
                                 : CT_RACE_READ_WRITE;
  k->n_races++;
  bool blocks = a->block != b->block, in_warp = !blocks && a->warp == b->warp;
  if (in_warp && a_writes && b_writes && a->in == b->in && a->ordinal == b->ordinal &&
      a->component == b->component && a->clock == b->clock) {
    how = CT_RACE_AT_ONCE;
  }
  how |= (in_warp ? CT_RACE_IN_WARP : 0) | (blocks ? CT_RACE_BLOCKS : 0);
  CtFound f = {.kind = kind,
               .in = b->in,
               .other = a->in,
               .buf = buf,
               .how = (uint8_t)how,
               .count = 1,
               .block = b->block,
               .other_block = a->block,
               .thread = ct_check_thread(b->warp, lane_b),
               .other_thread = ct_check_thread(a->warp, lane_a),
               .off = off,
               .agent = b->agent,
               .other_agent = a->agent};
  how |= k->clocks != NULL ? CT_RACE_CLOCKS : 0;
  how |= a->atomic != 0 && b->atomic != 0 ? CT_RACE_WIDTHS : 0;
  f.how = (uint8_t)how;
  ct_finding_note(k, &f);
}

/* --- texts ------------------------------------------------------------------------------------------------ */

typedef struct Words {
  char where[600];           /* "s at (3,5), extent (4,4)" */
  char who[200], other[200]; /* "thread (0,0,0) of block (1,0,0)" */
  char line[160], other_line[160];
} Words;

static void thread_of(const CtSimtProgram *p, int32_t i, int64_t t[3]) {
  int64_t xy = p->block[0] * p->block[1];
  t[0] = i % p->block[0];
  t[1] = i % xy / p->block[0];
  t[2] = i / xy;
}

static void block_of(const CtSimtJob *job, int64_t i, int64_t b[3]) {
  const int64_t *grid = job->launch->grid;
  b[0] = i % grid[0];
  b[1] = i / grid[0] % grid[1];
  b[2] = i / grid[0] / grid[1];
}

static void put_triple(char *out, size_t size, const char *what, const int64_t v[3]) {
  snprintf(out, size, "%s (%lld,%lld,%lld)", what, (long long)v[0], (long long)v[1],
           (long long)v[2]);
}

static void put_who(const CtSimtJob *job, char *out, size_t size, int64_t block, int32_t thread,
                    bool with_block) {
  int64_t t[3], b[3];
  thread_of(job->program, thread, t);
  block_of(job, block, b);
  put_triple(out, size, "thread", t);
  size_t len = strlen(out);
  if (with_block) {
    put_triple(out + len, size - len, " of block", b);
  }
}

static CtLoc loc_of(const CtSimtProgram *p, uint32_t in) {
  return in == UINT32_MAX ? (CtLoc){0} : p->locs[in];
}

static void put_line(const CtSimtProgram *p, char *out, size_t size, CtLoc loc, CtLoc here) {
  if (loc.chunk == here.chunk) {
    snprintf(out, size, "line %d", loc.line);
  } else {
    snprintf(out, size, "%s:%d", p->chunks[loc.chunk], loc.line);
  }
}

static Words words_of(const CtSimtJob *job, const CtFound *f) {
  const CtSimtProgram *p = job->program;
  Words w = {.where = ""};
  char place[512] = "";
  CtLoc here = loc_of(p, f->in);
  bool has_other = f->other != UINT32_MAX;
  if (f->buf != 0 && f->kind != CT_CHECK_COORDINATE) { /* a coordinate has a text of its own */
    const char *name = p->bufs[f->buf].name;
    ct_simt_place(job, f->buf, f->off, place, sizeof place);
    snprintf(w.where, sizeof w.where, "%.80s%s", name == NULL ? "a recast tensor" : name, place);
  }
  put_who(job, w.who, sizeof w.who, f->block, f->thread, true);
  put_line(p, w.line, sizeof w.line, here, here);
  put_who(job, w.other, sizeof w.other, f->other_block, f->other_thread,
          f->other_block != f->block);
  if (has_other) {
    put_line(p, w.other_line, sizeof w.other_line, loc_of(p, f->other), here);
  }
  return w;
}

static const char *access_name(bool is_write) { return is_write ? "write" : "read"; }

/* Says what would order the two accesses: something between them, or, in a loop, after the one
   and before the other comes again. */
static void put_order(CtText *out, const CtSimtProgram *p, const CtFound *f, const Words *w,
                      const char *what) {
  CtLoc here = loc_of(p, f->in), other = loc_of(p, f->other);
  if (here.chunk == other.chunk && here.line == other.line) {
    ct_text_printf(out, "put %s between the two", what);
  } else if (here.chunk == other.chunk && here.line < other.line && ct_order_is_again(p, f)) {
    ct_text_printf(out, "put %s after %s, before %s comes again", what, w->other_line, w->line);
  } else if (here.chunk == other.chunk && here.line < other.line && f->in < f->other) {
    ct_text_printf(out, "put %s between %s and %s", what, w->line, w->other_line);
  } else {
    ct_text_printf(out, "put %s between %s and %s", what, w->other_line, w->line);
  }
}

/* " by wgmma" and the like, if an agent accesses and not the thread itself. */
static const char *agent_name(CtAgent agent) {
  static const char *const names[CT_AGENT_COUNT] = {[CT_AGENT_NONE] = "",
                                                    [CT_AGENT_BAR] = " by a copy to an mbarrier",
                                                    [CT_AGENT_WGMMA] = " by wgmma",
                                                    [CT_AGENT_BULK] = " by a copy of TMA"};
  return names[agent];
}

/* Says what would order two accesses in a kernel with mbarriers: a wait for the older one. */
static void put_clock_order(CtText *out, const CtFound *f, const Words *w) {
  bool reads = (f->how & CT_RACE_HOW) == CT_RACE_READ_WRITE;
  switch ((CtAgent)f->other_agent) {
    case CT_AGENT_BAR:
      ct_text_puts(out, "; who waits for that phase of its mbarrier sees what it copies");
      return;
    case CT_AGENT_WGMMA:
      ct_text_puts(out,
                   "; wgmma is done where its warps have come past a wgmma_wait: arrive behind "
                   "that, and wait for it here");
      return;
    case CT_AGENT_BULK:
      ct_text_puts(out,
                   "; it is done where its thread has come past a tma_store_wait: arrive behind "
                   "that, and wait for it here");
      return;
    default: break;
  }
  if (f->agent != CT_AGENT_NONE && !reads) {
    ct_text_printf(
        out, "; put fence_proxy_async() after %s, then arrive or a barrier, then a wait before %s",
        w->other_line, w->line);
    return;
  }
  ct_text_printf(out, "; arrive at a barrier after %s, and wait for it before %s", w->other_line,
                 w->line);
}

static void put_race(CtText *out, const CtSimtProgram *p, const CtFound *f, const Words *w) {
  int how = f->how & CT_RACE_HOW;
  bool in_warp = (f->how & CT_RACE_IN_WARP) != 0, blocks = (f->how & CT_RACE_BLOCKS) != 0;
  bool writes = how != CT_RACE_WRITE_READ, other_writes = how != CT_RACE_READ_WRITE;
  bool is_shared = f->kind == CT_CHECK_RACE_SHARED;
  if (how == CT_RACE_AT_ONCE && f->agent == CT_AGENT_BAR) {
    ct_text_printf(out,
                   "race: %s and %s both issue the copy to %s; let one thread do it, as in if "
                   "threadIdx.x == 0 then, or by elect_one()",
                   w->other, w->who, w->where);
    return;
  }
  if (how == CT_RACE_AT_ONCE) {
    ct_text_printf(
        out,
        "race: %s and %s write to %s at once, and not the same value; give each thread a "
        "place of its own, let one of them write, or use an atomic operation",
        w->other, w->who, w->where);
    return;
  }
  CtLoc here = loc_of(p, f->in), other = loc_of(p, f->other);
  bool same_line = here.chunk == other.chunk && here.line == other.line;
  ct_text_printf(out, "race: %s of %s%s, by %s, and %s%s by %s at %s are not ordered",
                 access_name(writes), w->where, agent_name((CtAgent)f->agent), w->who,
                 access_name(other_writes), agent_name((CtAgent)f->other_agent), w->other,
                 same_line ? "the same line" : w->other_line);
  if ((f->how & CT_RACE_WIDTHS) != 0) {
    ct_text_puts(out, ": atomic operations of different widths are not atomic to each other; use "
                      "one type for both, or put a barrier between them");
    return;
  }
  if (blocks && is_shared && f->agent == CT_AGENT_BAR && !other_writes) {
    ct_text_printf(out,
                   "; let that block's readers arrive here after %s, as by empty[i]:arrive(rank), "
                   "and wait for them before %s, or put cluster_sync() between",
                   w->other_line, w->line);
    return;
  }
  if (blocks && is_shared) {
    ct_text_puts(out, "; ");
    put_order(out, p, f, w, "cluster_sync()");
    return;
  }
  if (blocks) {
    ct_text_puts(out, "; blocks run in any order: use atomic operations, a flag with fence(), or "
                      "another launch");
    return;
  }
  bool by_thread = f->agent == CT_AGENT_NONE && f->other_agent == CT_AGENT_NONE;
  if ((f->how & CT_RACE_CLOCKS) != 0 && !(in_warp && by_thread)) {
    put_clock_order(out, f, w);
    return;
  }
  ct_text_puts(out, in_warp ? " (lanes of a warp run in any order); " : "; ");
  put_order(out, p, f, w, in_warp ? "sync_warp()" : "sync_threads()");
  if (same_line && !is_shared) {
    ct_text_puts(out, ", or use an atomic operation");
  } else if (same_line) {
    ct_text_puts(out, ", give each thread a place of its own, or use an atomic operation");
  }
}

/* Says which coordinate is outside; the text of the instruction names its tensor. */
static void put_coordinate(CtText *out, const CtSimtProgram *p, const CtFound *f, const Words *w) {
  const char *what = p->texts[p->code[f->in].imm & UINT32_MAX];
  bool is_thread = strncmp(what, "among", 5) == 0;
  ct_text_printf(out, "coordinate: %lld %s, extent %lld, by %s; %s", (long long)f->off, what,
                 (long long)f->extra, w->who,
                 is_thread ? "let only so many threads come here"
                           : "the element that it is taken for is another one: stop at the extent, "
                             "or guard the tensor");
}

static void put_async(CtText *out, const CtSimtProgram *p, const CtFound *f, const Words *w) {
  switch (f->how) {
    case CT_ASYNC_READ:
      ct_text_printf(out, "cp.async: read of %s, by %s, before the copy by %s at %s is complete; ",
                     w->where, w->who, w->other, w->other_line);
      put_order(out, p, f, w, "cp_async_wait(0) and sync_threads()");
      ct_text_puts(out,
                   ", or wait for fewer pending groups; each group ends with cp_async_fence()");
      break;
    case CT_ASYNC_WRITE:
      ct_text_printf(out,
                     "cp.async: write of %s, by %s, while the copy by %s at %s may be under way; ",
                     w->where, w->who, w->other, w->other_line);
      put_order(out, p, f, w, "cp_async_wait(0) and sync_threads()");
      break;
    default:
      ct_text_printf(
          out,
          "cp.async: access to %s, by %s: %s, which copied it at %s, has waited for it, but "
          "others see it after a barrier only; put sync_threads() after cp_async_wait",
          w->where, w->who, w->other, w->other_line);
      break;
  }
}

static void put_wgmma(CtText *out, const CtSimtProgram *p, const CtFound *f, const Words *w) {
  switch (f->how) {
    case CT_WGMMA_READ:
    case CT_WGMMA_WRITE:
      ct_text_printf(
          out, "wgmma: %s of %s, by %s, before the product at %s that adds to it is complete; ",
          access_name(f->how == CT_WGMMA_WRITE), w->where, w->who, w->other_line);
      put_order(out, p, f, w, "wgmma_commit() and wgmma_wait(0)");
      ct_text_puts(out, ", or wait for fewer pending groups");
      break;
    case CT_WGMMA_A:
      ct_text_printf(out, "wgmma: write of %s, by %s, while the product at %s may read it; ",
                     w->where, w->who, w->other_line);
      put_order(out, p, f, w, "wgmma_commit() and wgmma_wait(0)");
      break;
    case CT_WGMMA_FENCE:
      ct_text_printf(out, "wgmma: %s, of %s, was accessed at %s, and no wgmma_fence() came since; ",
                     w->where, w->who, w->other_line);
      put_order(out, p, f, w, "wgmma_fence()");
      break;
    default:
      ct_text_printf(out,
                     "wgmma: no wgmma_fence() comes before the first product; put one before %s",
                     w->line);
      break;
  }
}

static void put_dependent(CtText *out, const CtFound *f, const Words *w) {
  ct_text_printf(
      out, "pdl: %s of %s, by %s, comes before grid_dependency_wait(), and an earlier launch%s%s, ",
      access_name((f->how & CT_EARLY_WRITE) != 0), w->where, w->who,
      f->kernel == NULL ? "" : " of ", f->kernel == NULL ? "" : f->kernel);
  ct_text_printf(
      out,
      "which %s it, may still run; call grid_dependency_wait() before %s, in this thread "
      "or in one that a barrier orders before it",
      (f->how & CT_EARLY_WROTE) != 0 ? "writes" : "reads", w->line);
}

static void put_text(CtText *out, const CtSimtProgram *p, const CtFound *f, const Words *w) {
  const char *access = access_name(f->how == CT_BOUNDS_WRITE);
  if (f->text != NULL) {
    ct_text_puts(out, f->text);
    return;
  }
  switch (f->kind) {
    case CT_CHECK_BOUNDS:
      ct_text_printf(out, "out of bounds: %s of %s, by %s", access, w->where, w->who);
      break;
    case CT_CHECK_COORDINATE: put_coordinate(out, p, f, w); break;
    case CT_CHECK_OVERFLOW:
      ct_text_printf(
          out,
          "overflow: %s of %s, by %s: its offset is %lld, which does not fit in 32 bits and "
          "became %lld; make a factor of it an i64, as in i64(n) or cast(i, i64)",
          access, w->where, w->who, (long long)f->extra, (long long)f->off);
      break;
    case CT_CHECK_MISALIGNED:
      ct_text_printf(
          out,
          "misaligned: %s of %s, by %s, of %lld bytes at once: the address is not a multiple of "
          "that",
          access, w->where, w->who, (long long)f->extra);
      break;
    case CT_CHECK_UNINIT_SHARED:
      ct_text_printf(out,
                     "uninitialised: read of %s, by %s: no thread of the %s has written it; write "
                     "it first, then %s()",
                     w->where, w->who, p->bufs[f->buf].is_remote ? "cluster" : "block",
                     p->bufs[f->buf].is_remote ? "cluster_sync" : "sync_threads");
      break;
    case CT_CHECK_UNINIT_REGISTER:
      ct_text_printf(
          out,
          "uninitialised: read of %s, by %s: the thread has not written it; clear or fill "
          "the fragment first",
          w->where, w->who);
      break;
    case CT_CHECK_RACE_SHARED:
    case CT_CHECK_RACE_GLOBAL: put_race(out, p, f, w); break;
    case CT_CHECK_ASYNC: put_async(out, p, f, w); break;
    case CT_CHECK_WGMMA: put_wgmma(out, p, f, w); break;
    case CT_CHECK_DEPENDENT: put_dependent(out, f, w); break;
    case CT_CHECK_BARRIER: /* the other kinds have a text of their own */
      if (f->how == CT_BARRIER_ENDED) {
        ct_text_printf(
            out,
            "sync_threads: %lld threads of the block have ended without coming to it, the "
            "first: %s; all must come: return after the last sync_threads, or let part "
            "of a block wait by named_barrier",
            (long long)f->extra, w->who);
        break;
      }
      ct_text_printf(
          out,
          "sync_warp: %s is there, but %s is elsewhere; all threads of a warp must reach "
          "the same sync_warp",
          w->who, w->other);
      break;
    case CT_CHECK_NAN:
      ct_text_printf(out, "nan: %s%s%s, by %s",
                     f->how == CT_NAN_OF_INFINITY ? "infinite operands, none of them NaN, give NaN"
                                                  : "finite operands give NaN or an infinity",
                     w->where[0] == '\0' ? "" : " in ", w->where, w->who);
      break;
    default: break;
  }
}

/* --- the launch's end ---------------------------------------------------------------------------------------- */

typedef struct Sorted {
  CtFound f;
  CtLoc loc, other;
} Sorted;

static int compare(const void *a, const void *b) {
  const Sorted *x = a, *y = b;
  const int64_t keys[][2] = {{x->loc.chunk, y->loc.chunk},
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
  for (size_t i = 0; i < CT_ARRAY_LEN(keys); i++) {
    if (keys[i][0] != keys[i][1]) {
      return keys[i][0] < keys[i][1] ? -1 : 1;
    }
  }
  return 0;
}

/* Are two findings the same for the user? Buffers of one tensor count as one. */
static bool is_same_line(const CtSimtProgram *p, const Sorted *a, const Sorted *b) {
  const char *x = p->bufs[a->f.buf].name, *y = p->bufs[b->f.buf].name;
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
      all[at++] = (Sorted){
          .f = f, .loc = loc_of(c->job->program, f.in), .other = loc_of(c->job->program, f.other)};
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
  const CtSimtProgram *p = c->job->program;
  Words w = words_of(c->job, &s->f);
  bool has_other = s->f.other != UINT32_MAX;
  CtText text;
  ct_text_init(&text, c->alloc);
  put_text(&text, p, &s->f, &w);
  CtFinding f = {.kind = s->f.kind,
                 .kernel = keep(c, p->name),
                 .chunk = keep(c, p->chunks[s->loc.chunk]),
                 .other_chunk = has_other ? keep(c, p->chunks[s->other.chunk]) : NULL,
                 .line = s->loc.line,
                 .other_line = has_other ? s->other.line : 0,
                 .buffer = s->f.buf == 0 ? NULL : keep(c, p->bufs[s->f.buf].name),
                 .count = s->f.count,
                 .text = keep(c, ct_text_str(&text))};
  ct_text_clear(&text);
  thread_of(p, s->f.thread, f.thread);
  block_of(c->job, s->f.block, f.block);
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
static bool is_told(const CtSimtProgram *p, const Sorted *all, size_t n, const Sorted *s) {
  for (size_t i = 0; s->f.kind == CT_CHECK_COORDINATE && i < n; i++) {
    Sorted as = all[i];
    as.f.kind = CT_CHECK_COORDINATE;
    if (all[i].f.kind == CT_CHECK_BOUNDS && is_same_line(p, &as, s)) {
      return true;
    }
  }
  return false;
}

/* Adds a finding, or its count if an earlier launch found the same. */
static void add_finding(CtCheck *c, size_t n_earlier, const Sorted *s) {
  CtFinding f = finding_of(c, s);
  CtFinding *old = find_earlier(c, n_earlier, &f);
  if (old != NULL) {
    old->count += f.count;
  } else if (f.text == NULL || f.kernel == NULL ||
             ct_grow(c->alloc, &c->findings, &c->cap_findings, c->n_findings + 1,
                     sizeof *c->findings, NULL) != CT_OK) {
    c->no_memory = true;
  } else {
    c->findings[c->n_findings++] = f;
  }
}

void ct_finding_merge(CtCheck *c) {
  size_t n, n_earlier = c->n_findings;
  Sorted *all = gather(c, &n);
  c->no_memory = c->no_memory || (n > 0 && all == NULL);
  for (size_t i = 0, next; all != NULL && i < n; i = next) { /* the first has the best example */
    for (next = i + 1; next < n && is_same_line(c->job->program, &all[i], &all[next]); next++) {
      all[i].f.count += all[next].f.count;
    }
    if (!is_told(c->job->program, all, n, &all[i])) {
      add_finding(c, n_earlier, &all[i]);
    }
  }
}
