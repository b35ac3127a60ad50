/* check_text.c: findings in words. Each kind of finding is a row with a template; races choose theirs by
   who accesses, and by what would order the accesses. */
#include "check_flag.h"

#include <stdio.h>
#include <string.h>

/* {====== What templates speak of ====== */

typedef struct Words {
  char where[600];           /* "s at (3,5), extent (4,4)" */
  char who[200], other[200]; /* "thread (0,0,0) of block (1,0,0)" */
  char line[160], other_line[160];
  bool writes, other_writes, is_cooperative, is_cluster, has_flags;
  bool is_apart;     /* the later access is by TMA or clc_try_cancel, which take another path */
  bool is_of_halves; /* one line stores to elements that share a byte */
} Words;

void ct_check_thread_of(const CtSimtProgram *p, int32_t i, int64_t t[3]) {
  int64_t xy = p->block[0] * p->block[1];
  t[0] = i % p->block[0];
  t[1] = i % xy / p->block[0];
  t[2] = i / xy;
}

void ct_check_block_of(const CtSimtJob *job, int64_t i, int64_t b[3]) {
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
  ct_check_thread_of(job->program, thread, t);
  ct_check_block_of(job, block, b);
  put_triple(out, size, "thread", t);
  size_t len = strlen(out);
  if (with_block) {
    put_triple(out + len, size - len, " of block", b);
    len = strlen(out);
  }
  if (with_block && job->rank >= 0) {
    snprintf(out + len, size - len, " of rank %d", job->rank);
  }
}

static CtLoc loc_of(const CtSimtProgram *p, uint32_t in) {
  return in == UINT32_MAX ? (CtLoc){0} : p->locs[in];
}

/* `chunk` is that of the finding. */
static void put_line(const CtSimtProgram *p, char *out, size_t size, CtLoc loc, const char *chunk) {
  if (strcmp(p->chunks[loc.chunk], chunk) == 0) {
    snprintf(out, size, "line %d", loc.line);
  } else {
    snprintf(out, size, "%s:%d", p->chunks[loc.chunk], loc.line);
  }
}

/* The launch of the other access. */
static const CtSimtJob *other_job(const CtSimtJob *job, const CtFound *f) {
  return f->other_job == NULL ? job : f->other_job;
}

/* Who writes, of the two accesses. */
static void find_writers(const CtFound *f, Words *w) {
  int how = f->how & CT_RACE_HOW;
  if (ct_found_is_race(f)) {
    w->writes = how != CT_RACE_WRITE_READ;
    w->other_writes = how != CT_RACE_READ_WRITE;
  } else if (f->kind == CT_CHECK_DEPENDENT || f->kind == CT_CHECK_STREAMS) {
    w->writes = (f->how & CT_EARLY_WRITE) != 0;
    w->other_writes = (f->how & CT_EARLY_WROTE) != 0;
  } else {
    w->writes = f->how == (f->kind == CT_CHECK_WGMMA ? CT_WGMMA_WRITE : CT_BOUNDS_WRITE);
  }
}

static bool is_same_script_line(const CtSimtProgram *p, const CtFound *f) {
  CtLoc here = loc_of(p, f->in), other = loc_of(p, f->other);
  return here.chunk == other.chunk && here.line == other.line;
}

/* Such a store reads the byte and writes it back, so that nothing can be put between the two. */
static bool is_of_halves(const CtSimtProgram *p, const CtFound *f) {
  const CtSimtBuf *buf = &p->bufs[f->buf];
  return ct_dtype_is_packed(buf->of) && !ct_dtype_is_packed(buf->dtype) &&
         is_same_script_line(p, f);
}

static Words words_of(const CtSimtJob *job, const CtFound *f) {
  const CtSimtProgram *p = job->program;
  const CtSimtJob *other = other_job(job, f);
  Words w = {.where = "",
             .is_cooperative = job->launch->is_cooperative,
             .is_cluster = p->n_cluster > 1,
             .has_flags = ct_flag_is_wanted(job->program)};
  CtLoc here = loc_of(p, f->in);
  if (f->buf != 0 && f->kind != CT_CHECK_COORDINATE) { /* a coordinate has a text of its own */
    ct_simt_place(job, f->buf, f->begin, f->off, w.where, sizeof w.where);
  }
  put_who(job, w.who, sizeof w.who, f->block, f->thread, true);
  put_line(p, w.line, sizeof w.line, here, p->chunks[here.chunk]);
  put_who(other, w.other, sizeof w.other, f->other_block, f->other_thread,
          f->other_block != f->block || other != job);
  if (f->other != UINT32_MAX) {
    put_line(other->program, w.other_line, sizeof w.other_line, loc_of(other->program, f->other),
             p->chunks[here.chunk]);
  }
  find_writers(f, &w);
  w.is_of_halves = is_of_halves(p, f);
  w.is_apart = f->kind == CT_CHECK_RACE_SHARED && (ct_in_op(p, f->in) == CT_OP_CLC_TRY_CANCEL ||
                                                   ct_in_is(&p->code[f->in], CT_INS_TMA));
  return w;
}

/* Appends " by wgmma" and the like, if an agent accesses and not the thread itself. */
static void put_agent(CtText *out, const CtSimtProgram *p, uint32_t in, CtAgent agent) {
  static const char *const names[CT_AGENT_COUNT] = {[CT_AGENT_NONE] = "",
                                                    [CT_AGENT_BAR] = " by a copy to an mbarrier",
                                                    [CT_AGENT_WGMMA] = " by wgmma",
                                                    [CT_AGENT_BULK] = " by a copy of TMA",
                                                    [CT_AGENT_BULK_WRITE] = " by a copy of TMA",
                                                    [CT_AGENT_UMMA] = " by tcgen05.mma",
                                                    [CT_AGENT_TMEM] =
                                                        " by a copy of tensor memory"};
  bool is_cp = agent == CT_AGENT_UMMA && in < p->n_code && p->code[in].u.op == CT_SIMT_TCGEN05_CP;
  CtOp op = agent == CT_AGENT_BAR ? ct_in_op(p, in) : CT_OP_NONE;
  if (ct_op_has(op, CT_TRAIT_SAID)) {
    ct_text_printf(out, " by %s", ct_ops[op].text);
  } else {
    ct_text_puts(out, is_cp ? " by tcgen05.cp" : names[agent]);
  }
}

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

/* {====== Templates ====== */

/* One finding being written. */
typedef struct Out {
  CtText *text;
  const CtSimtProgram *p;
  const CtFound *f;
  const Words *w;
} Out;

/* What a template says at a directive:
     %a %b  "read" or "write": what the access does; what the other one does
     %v     "reads" or "writes": what the earlier launch does
     %w     the place: tensor and coordinate        %i   " in ", if there is a place
     %t %o  the thread; the other one               %g %h  " by wgmma" and the like of each
     %l %m  the line; the other one
     %x %f  the number that goes with the finding; the offset or coordinate
     %k     " of kernel 'k'", if it is known        %c   the coordinate's name
     %e     the operation that overflows            %s   the exact sum
     %y     the type that it does not fit in        %r   what to compute in instead */
static void put_operation(const Out *o, char directive) {
  const int64_t *v = o->f->operands;
  CtOp op;
  CtDtype type;
  ct_overflow_operation(o->p, o->f->in, &op, &type);
  if (directive == 'y') {
    ct_text_puts(o->text, ct_dtypes[type].name);
  } else if (directive == 'r') {
    ct_text_puts(o->text, type == CT_i64 ? "u64" : "i64, or u32");
  } else if (op == CT_OP_NEG || op == CT_OP_ABS) {
    ct_text_printf(o->text, "%s(%lld)", op == CT_OP_ABS ? "abs" : "-", (long long)v[0]);
  } else {
    static const char *const signs[CT_OP_COUNT] = {[CT_OP_ADD] = "+",
                                                   [CT_OP_SUB] = "-",
                                                   [CT_OP_MUL] = "*",
                                                   [CT_OP_SHL] = "<<",
                                                   [CT_OP_FLOORDIV] = "//"};
    ct_text_printf(o->text, "%lld %s %lld", (long long)v[0], signs[op], (long long)v[1]);
  }
}

static void put_directive(const Out *o, char directive) {
  const Words *w = o->w;
  const CtFound *f = o->f;
  switch (directive) {
    case 'a': ct_text_puts(o->text, w->writes ? "write" : "read"); break;
    case 'b': ct_text_puts(o->text, w->other_writes ? "write" : "read"); break;
    case 'v': ct_text_puts(o->text, w->other_writes ? "writes" : "reads"); break;
    case 'w': ct_text_puts(o->text, w->where); break;
    case 'i': ct_text_puts(o->text, w->where[0] == '\0' ? "" : " in "); break;
    case 't': ct_text_puts(o->text, w->who); break;
    case 'o': ct_text_puts(o->text, w->other); break;
    case 'g': put_agent(o->text, o->p, f->in, (CtAgent)f->agent); break;
    case 'h': put_agent(o->text, o->p, f->other, (CtAgent)f->other_agent); break;
    case 'l': ct_text_puts(o->text, w->line); break;
    case 'm': ct_text_puts(o->text, w->other_line); break;
    case 'x': ct_text_printf(o->text, "%lld", (long long)f->extra); break;
    case 'f': ct_text_printf(o->text, "%lld", (long long)f->off); break;
    case 's': ct_text_printf(o->text, "%lld", (long long)f->operands[0]); break;
    case 'e':
    case 'y':
    case 'r': put_operation(o, directive); break;
    case 'k':
      ct_text_printf(o->text, "%s%s", f->kernel == NULL ? "" : " of ",
                     f->kernel == NULL ? "" : f->kernel);
      break;
    case 'c': ct_text_puts(o->text, o->p->texts[o->p->code[f->in].imm & UINT32_MAX]); break;
    default: CT_UNREACHABLE();
  }
}

/* Writes a template; `{x}` in it says where to put x between the two accesses. */
static void put(const Out *o, const char *template) {
  char what[80];
  for (const char *s = template; *s != '\0';) {
    size_t n = strcspn(s, "%{");
    ct_text_add(o->text, s, n);
    s += n;
    if (*s == '%') {
      put_directive(o, s[1]);
      s += 2;
    } else if (*s == '{') {
      n = strcspn(s, "}");
      snprintf(what, sizeof what, "%.*s", (int)(n - 1), s + 1);
      put_order(o->text, o->p, o->f, o->w, what);
      s += n + 1;
    }
  }
}

/* {====== Races ====== */

/* What would order two accesses in a kernel with mbarriers: a wait for the older one. */
static const char *clock_order(const CtFound *f, const Words *w) {
  switch ((CtAgent)f->other_agent) {
    case CT_AGENT_BAR:
      return w->other_writes
                 ? "; a thread that waits for that phase of its mbarrier sees what it copies"
             : f->kind == CT_CHECK_RACE_SHARED
                 ? "; it has read once that phase of its mbarrier is over: let a thread of the other "
                   "block wait for it and arrive here, as at empty[i]:arrive(rank), and wait for that "
                   "before %l"
             : w->is_cluster
                 ? "; TMA reads by another path: write there after a wait for that phase in each block "
                   "that gets the copy, and put fence_proxy_async(\"global\") after a write that it is "
                   "to read"
                 : "; TMA reads by another path: write there after a wait for that phase of its "
                   "mbarrier, and put fence_proxy_async(\"global\") after a write that it is to read";
    case CT_AGENT_WGMMA:
      return "; wgmma is complete once its warps have passed a wgmma_wait: arrive after that, and "
             "wait for it here";
    case CT_AGENT_BULK:
      return "; it has read once its thread has passed a tma_store_wait: arrive after that, and "
             "wait for it here";
    case CT_AGENT_BULK_WRITE:
      return "; its writes are complete once its thread has passed a tma_store_wait with done = "
             "true: arrive after that, and wait for it here";
    case CT_AGENT_UMMA:
      return "; a product by tcgen05 is complete once a phase of an mbarrier is over at which a later "
             "tcgen05_commit() arrived: wait for that here";
    case CT_AGENT_TMEM:
    case CT_AGENT_NONE:
    case CT_AGENT_COUNT: break;
  }
  return f->agent != CT_AGENT_NONE && (w->other_writes || w->is_apart)
             ? "; put fence_proxy_async() after %m, then arrive or a barrier, then a wait before %l"
             : "; arrive at a barrier after %m, and wait for it before %l";
}

static const char halves_order[] =
    ": a store to an element of 4 bits reads its byte and writes it back, and the byte has two "
    "elements; let one thread store both, as by copy from a fragment of 2 elements";

/* Two accesses of one block. */
static const char *block_order(const CtFound *f, const Words *w, bool same_line) {
  bool in_warp = (f->how & CT_RACE_IN_WARP) != 0, is_shared = f->kind == CT_CHECK_RACE_SHARED;
  bool by_thread = f->agent == CT_AGENT_NONE && f->other_agent == CT_AGENT_NONE;
  if ((f->how & CT_RACE_CLOCKS) != 0 && !(in_warp && by_thread)) {
    return clock_order(f, w);
  }
  static const char *const remedies[2][3] = {
      {"; {sync_threads()}", "; {sync_threads()}, or use an atomic operation",
       "; {sync_threads()}, give each thread a place of its own, or use an atomic operation"},
      {" (lanes of a warp run in any order); {sync_warp()}",
       " (lanes of a warp run in any order); {sync_warp()}, or use an atomic operation",
       " (lanes of a warp run in any order); {sync_warp()}, give each thread a place of its own, or "
       "use an atomic operation"}};
  return remedies[in_warp][!same_line ? 0 : is_shared ? 2 : 1];
}

/* Does TMA read what a thread wrote? */
static bool is_of_proxies(const CtFound *f, const Words *w) {
  bool is_agent = f->agent != CT_AGENT_NONE, is_other = f->other_agent != CT_AGENT_NONE;
  return is_agent != is_other && (is_agent ? !w->writes : w->writes && !w->other_writes);
}

/* The same of tensor memory. */
static const char *tensor_order(const CtFound *f) {
  if (f->extra != 0) {
    return "; the thread knows of it, but %l may still come before it: put "
           "tcgen05_after_thread_sync() between the wait or the barrier and %l";
  }
  if (f->agent == CT_AGENT_UMMA && f->other_agent == CT_AGENT_UMMA) {
    return "; only products of one thread that add to sums of one shape, by one kind, follow each other: wait "
           "before %l for a phase of an mbarrier at which a tcgen05_commit() after %m arrived, then "
           "call tcgen05_after_thread_sync()";
  }
  return f->other_agent == CT_AGENT_UMMA
             ? "; a product is complete once a phase of an mbarrier is over at which a later "
               "tcgen05_commit() arrived: wait for that before %l, then call "
               "tcgen05_after_thread_sync()"
             : "; put tcgen05_before_thread_sync() after %m, then an arrival or a barrier, and before "
               "%l a wait for it, then tcgen05_after_thread_sync()";
}

/* A copy to an mbarrier writes what threads of another block read. */
static const char *readers_order(const Words *w) {
  return w->is_apart
             ? "; let that block's readers call fence_proxy_async() after %m and then arrive here, as in "
               "empty[i]:arrive(rank), and wait for them before %l, or put sync_cluster() between"
             : "; let that block's readers arrive here after %m, as in empty[i]:arrive(rank), and "
               "wait for them before %l, or put sync_cluster() between";
}

/* What would order the two accesses of a race. */
static const char *race_order(const CtFound *f, const Words *w, bool same_line) {
  bool is_shared = f->kind == CT_CHECK_RACE_SHARED;
  if (f->kind == CT_CHECK_TENSOR) {
    return tensor_order(f);
  }
  if ((f->how & CT_RACE_WIDTHS) != 0) {
    return ": atomic operations of different widths are not atomic to each other; use one type for "
           "both, or put a barrier between them";
  }
  if (w->is_of_halves) {
    return halves_order;
  }
  bool in_block = (f->how & CT_RACE_BLOCKS) == 0;
  if (!is_shared && f->other_agent == CT_AGENT_BAR) {
    return clock_order(f, w);
  }
  if (!is_shared && is_of_proxies(f, w) && f->other_agent == CT_AGENT_NONE) {
    return "; TMA reads by another path: order them by a flag or a barrier, and after that "
           "{fence_proxy_async(\"global\")}";
  }
  if (in_block) {
    return block_order(f, w, same_line);
  }
  if (f->other_agent == CT_AGENT_BULK_WRITE &&
      (w->has_flags || w->is_cooperative || w->is_cluster)) {
    return "; a copy of TMA is complete once its thread has passed a tma_store_wait with done = "
           "true: release or arrive after that, and acquire or wait before %l";
  }
  if (!is_shared && w->has_flags) {
    return "; blocks run in any order: release a flag after the one (atomic_store, or fence() and then "
           "an atomic operation), acquire it before the other, with sync_threads() or, in a warp, "
           "sync_warp() between these and other threads";
  }
  if (!is_shared && w->is_cooperative) {
    return "; put sync_grid() between them, or use atomic operations or a flag with fence()";
  }
  if (!is_shared) {
    return "; blocks run in any order: use atomic operations, a flag with fence(), or another "
           "launch";
  }
  if (f->other_agent == CT_AGENT_UMMA) {
    return "; a product by tcgen05 is complete once a phase of an mbarrier is over at which a later "
           "tcgen05_commit() arrived: let it arrive here, too, by {multicast = mask}, and wait for "
           "that before %l";
  }
  if (f->other_agent == CT_AGENT_BAR && w->other_writes) {
    return clock_order(f, w);
  }
  return f->agent == CT_AGENT_BAR && !w->other_writes ? readers_order(w) : "; {sync_cluster()}";
}

/* Two accesses of two ranks. */
static void put_rank_race(const Out *o) {
  static const char *const causes[] = {
      [CT_RANKS_FLAG] =
          "; between ranks only scope \"sys\" orders: release after one of them with "
          "atomic_store(flag, i, 1, {scope = \"sys\"}), acquire before the other with "
          "atomic_load(flag, i, {scope = \"sys\"}), with sync_threads() or, in a warp, "
          "sync_warp() between these and other threads",
      [CT_RANKS_SCOPE] = ": these blocks release or acquire at scope \"gpu\", which orders nothing "
                         "between ranks; give both operations {scope = \"sys\"}",
      [CT_RANKS_PROXY] =
          "; TMA reads by another path: put fence_proxy_async(\"global\") between the "
          "write and its release, or between the acquire and the copy",
      [CT_RANKS_COPY] = "; a copy of TMA is complete once its thread has passed "
                        "tma_store_wait(0, {done = true}): release by scope \"sys\" after that"};
  bool both_atomic = (o->f->how & CT_RACE_WIDTHS) != 0;
  put(o, "race: %a of %w%g, by %t, and %b%h by %o at %m are not ordered");
  ct_text_puts(
      o->text,
      both_atomic ? ": atomic operations of scope \"gpu\" are not atomic to those of another rank; "
                    "give both {scope = \"sys\"}"
                  : causes[o->f->extra]);
}

static void put_race(const Out *o) {
  const CtFound *f = o->f;
  if ((f->how & CT_RACE_RANKS) != 0) {
    put_rank_race(o);
    return;
  }
  bool same_line = is_same_script_line(o->p, f);
  if ((f->how & CT_RACE_HOW) == CT_RACE_AT_ONCE && o->w->is_of_halves) {
    put(o, "race: %o and %t write to %w at once");
    put(o, halves_order);
    return;
  }
  if ((f->how & CT_RACE_HOW) == CT_RACE_AT_ONCE) {
    put(o, f->agent == CT_AGENT_BAR
               ? "race: %o and %t both issue the copy to %w; let one thread do it, as in if "
                 "threadIdx.x == 0 then, or with elect_one()"
               : "race: %o and %t write to %w at once, and not the same value; give each thread a "
                 "place of its own, let one of them write, or use an atomic operation");
    return;
  }
  put(o, "race: %a of %w%g, by %t, and %b%h by %o at ");
  put(o, same_line ? "the same line are not ordered" : "%m are not ordered");
  put(o, race_order(f, o->w, same_line));
}

/* {====== The other kinds ====== */

enum { ANY = -1, REMOTE = 1, AMONG_THREADS = 1 };

static const struct {
  CtCheckKind kind;
  int how;
  const char *text;
} rows[] = {
    {CT_CHECK_BOUNDS, ANY, "out of bounds: %a of %w, by %t"},
    {CT_CHECK_COORDINATE, AMONG_THREADS,
     "coordinate: %f %c, extent %x, by %t; let only that many threads get here"},
    {CT_CHECK_COORDINATE, ANY,
     "coordinate: %f %c, extent %x, by %t; another element is accessed instead: stop "
     "at the extent, or guard the tensor"},
    {CT_CHECK_OVERFLOW, ANY,
     "overflow: %a of %w, by %t: its offset is %x, which does not fit in 32 bits and became %f; "
     "make one of its factors an i64, as in i64(n) or cast(i, i64)"},
    {CT_CHECK_MISALIGNED, ANY,
     "misaligned: %a of %w, by %t, of %x bytes at once: the address is not a multiple of that"},
    {CT_CHECK_UNINIT_SHARED, REMOTE,
     "uninitialised: read of %w, by %t: no thread of the cluster has written it; write it first, "
     "then sync_cluster()"},
    {CT_CHECK_UNINIT_SHARED, ANY,
     "uninitialised: read of %w, by %t: no thread of the block has written it; write it first, "
     "then sync_threads()"},
    {CT_CHECK_TENSOR, ANY,
     "uninitialised: read of %w%g, by %t: no product and no copy of the block has written it; let the "
     "first product overwrite it, by its option accumulate"},
    {CT_CHECK_UNINIT_GLOBAL, ANY,
     "uninitialised: read of %w, by %t: nobody has written it since it was allocated; write it "
     "first, or allocate it with zeros"},
    {CT_CHECK_UNINIT_REGISTER, ANY,
     "uninitialised: read of %w, by %t: the thread has not written it; clear or fill the fragment "
     "first"},
    {CT_CHECK_ASYNC, CT_ASYNC_READ,
     "cp.async: read of %w, by %t, before the copy by %o at %m is complete; {cp_async_wait(0) and "
     "sync_threads()}, or wait for fewer pending groups; each group ends with cp_async_commit()"},
    {CT_CHECK_ASYNC, CT_ASYNC_WRITE,
     "cp.async: write of %w, by %t, while the copy by %o at %m may be in progress; "
     "{cp_async_wait(0) and sync_threads()}"},
    {CT_CHECK_ASYNC, CT_ASYNC_NO_BARRIER,
     "cp.async: access to %w, by %t: %o, which copied it at %m, has waited for it, but others see "
     "it only after a barrier; put sync_threads() after cp_async_wait"},
    {CT_CHECK_ASYNC, CT_ASYNC_FAR_READ,
     "cp.async: read of %w, by %t, before the copy by %o at %m is complete; {cp_async_wait(0) and "
     "then sync_cluster()}"},
    {CT_CHECK_ASYNC, CT_ASYNC_FAR_WRITE,
     "cp.async: write of %w, by %t, while the copy by %o at %m may be in progress; "
     "{cp_async_wait(0) and then sync_cluster()}"},
    {CT_CHECK_ASYNC, CT_ASYNC_NOT_HANDED_ON,
     "cp.async: access to %w, by %t: %o, which copied it at %m, has waited for it, but nothing "
     "orders that wait before this; put the cp_async_wait before what hands the data on, such as "
     "an arrival, sync_threads() or sync_cluster()"},
    {CT_CHECK_ASYNC, CT_ASYNC_SOURCE,
     "cp.async: write of %w, by %t, while its copy at %m may still read it; {cp_async_wait(0)}, or "
     "wait for fewer pending groups; each group ends with cp_async_commit()"},
    {CT_CHECK_ASYNC, CT_ASYNC_SOURCE_OF,
     "cp.async: write of %w, by %t, while the copy by %o at %m may still read it; put "
     "cp_async_wait(0) after %m, and sync_threads() or another barrier between that and %l"},
    {CT_CHECK_WGMMA, CT_WGMMA_A,
     "wgmma: write of %w, by %t, while the product at %m may read it; {wgmma_commit() and "
     "wgmma_wait(0)}"},
    {CT_CHECK_WGMMA, CT_WGMMA_FENCE,
     "wgmma: %w, of %t, was accessed at %m, and no wgmma_fence() came since; {wgmma_fence()}"},
    {CT_CHECK_WGMMA, CT_WGMMA_NO_FENCE,
     "wgmma: no wgmma_fence() comes before the first product; put one before %l"},
    {CT_CHECK_WGMMA, ANY,
     "wgmma: %a of %w, by %t, before the product at %m that adds to it is complete; "
     "{wgmma_commit() and wgmma_wait(0)}, or wait for fewer pending groups"},
    {CT_CHECK_DEPENDENT, ANY,
     "pdl: %a of %w, by %t, comes before grid_dependency_wait(), and an earlier launch%k, which %v "
     "it, may still run; call grid_dependency_wait() before %l, in this thread or in one that a "
     "barrier orders before it"},
    {CT_CHECK_STREAMS, ANY,
     "streams: %a of %w, by %t, and an earlier launch%k in another stream, which %v it, are not "
     "ordered; record an event after that launch, and let the stream of this one wait for it, as "
     "in side:wait(event():record())"},
    {CT_CHECK_BARRIER, CT_BARRIER_ENDED,
     "sync_threads: %x threads of the block have ended without reaching it, the first: %t; all "
     "must reach it: return after the last sync_threads, or let part of a block wait at a "
     "named_barrier"},
    {CT_CHECK_BARRIER, CT_BARRIER_ENDED_GRID,
     "sync_grid: %x threads of the block have ended without reaching it, the first: %t; all must "
     "reach it: return after the last sync_grid"},
    {CT_CHECK_BARRIER, CT_BARRIER_WARP,
     "sync_warp: %t is there, but %o is elsewhere; all threads of a warp must reach the same "
     "sync_warp"},
    {CT_CHECK_LANE, ANY,
     "lane: %t reads a lane that is not in its mask, and gets an arbitrary value; let it read a "
     "lane of the mask, such as its own if there is no other"},
    {CT_CHECK_NAN, CT_NAN_OF_INFINITY,
     "nan: infinite operands, none of them NaN, give NaN%i%w, by %t"},
    {CT_CHECK_NAN, CT_NAN_NARROWED,
     "nan: a finite number is too large for the narrower type, and becomes an infinity or NaN%i%w, "
     "by %t; scale it, or clamp it to the range of the type"},
    {CT_CHECK_ARITHMETIC, CT_OVERFLOW_OF_TWO,
     "overflow: %e does not fit in %y and became %x, by %t; compute in %r if it is to wrap around"},
    {CT_CHECK_ARITHMETIC, CT_OVERFLOW_ATOMIC,
     "overflow: %e does not fit in %y and became %x%i%w, by %t; give it elements of %r if they are "
     "to wrap around"},
    {CT_CHECK_ARITHMETIC, CT_OVERFLOW_KNOWN_SUM,
     "overflow: the sum %s does not fit in %y and became %x%i%w, by %t; add up in %r if it is to "
     "wrap around"},
    {CT_CHECK_ARITHMETIC, ANY,
     "overflow: the sum does not fit in %y and became %x%i%w, by %t; add up in %r if it is to wrap "
     "around"},
    {CT_CHECK_ORDER, CT_SUMS_PROMISED,
     "order: %w gets a float from %t%g, and one from %o%h at %m, in an order that nothing fixes: sums "
     "round as they come, and the launch says deterministic = true; let a barrier or a flag order "
     "them, or add in a fixed order"},
    {CT_CHECK_ORDER, CT_SUMS_UNFENCED,
     "order: %w gets a float from %t%g, and one from %o%h at %m: the threads are in order, but TMA adds by "
     "another path, which no fence between the two orders; call fence_proxy_async(\"global\") after "
     "the flag is read, or before it is set"},
    {CT_CHECK_ORDER, ANY,
     "order: %w gets a float from %t%g, and one from %o%h at %m: a flag orders the threads, but not "
     "the sums, which round as they come; a copy of TMA adds until its thread has passed a "
     "tma_store_wait with done = true: release after that"},
    {CT_CHECK_NAN, ANY, "nan: finite operands give NaN or an infinity%i%w, by %t"},
};

/* What chooses among the rows of a kind. */
static int how_of(const CtSimtProgram *p, const CtFound *f) {
  if (f->kind == CT_CHECK_COORDINATE) {
    bool is_among = strncmp(p->texts[p->code[f->in].imm & UINT32_MAX], "among", 5) == 0;
    return is_among ? AMONG_THREADS : 0;
  }
  if (f->kind == CT_CHECK_UNINIT_SHARED) {
    return p->bufs[f->buf].is_remote ? REMOTE : 0;
  }
  return f->how;
}

void ct_check_put_text(CtText *out, const CtSimtJob *job, const CtFound *f) {
  Words w = words_of(job, f);
  const Out o = {out, job->program, f, &w};
  size_t from = out->len;
  if (f->text != NULL) {
    ct_text_puts(out, f->text);
  } else if (ct_found_is_race(f)) {
    put_race(&o);
  } else {
    int how = how_of(job->program, f);
    size_t i = 0;
    while (rows[i].kind != f->kind || (rows[i].how != ANY && rows[i].how != how)) {
      i++;
      CT_ASSERT(i < CT_ARRAY_LEN(rows)); /* the other kinds have a text of their own */
    }
    put(&o, rows[i].text);
  }
  ct_text_agree(out, from); /* as "1 threads of the block have ended" */
}
