/* check_global.h: what the parts of `check` share that look at global memory. These are the
   regions of a launch (check_region.c) and their shadows (check_global.c). check_early.c turns
   the shadows into the past that later dependent launches are compared with. */
#ifndef CT_WATCH_CHECK_GLOBAL_H
#define CT_WATCH_CHECK_GLOBAL_H

#include "check_before.h"
#include "check_latest.h"

enum { CT_GLOBAL_CHUNK = 4096 }; /* granules */
enum { CT_SEEN_NOT, CT_SEEN_ATOMIC, CT_SEEN };
enum {
  CT_GLOBAL_EVENTS = 4096, /* how many numbers a worker takes at once */
  CT_EVENT_CHUNKS = 1 << 15
};

/* What is kept of accesses that do not race with each other, by kind; then plain writes. */
typedef enum CtGlobalKind {
  CT_GLOBAL_READ,
  CT_GLOBAL_COPY,   /* a plain read by a copy that may be cp.async */
  CT_GLOBAL_LOAD,   /* atomic */
  CT_GLOBAL_ATOMIC, /* other atomic operations */
  CT_GLOBAL_KINDS,
  CT_GLOBAL_WRITE = CT_GLOBAL_KINDS
} CtGlobalKind;

/* 16 neighbouring granules. While each access there is of the whole line by lanes in the same places, the line has one
   word for all granules, that of the first. An access of another shape cuts the line: from then on, each granule has
   words of its own. */
enum { CT_LINE_BITS = 4, CT_LINE = 1 << CT_LINE_BITS, CT_LINES = CT_GLOBAL_CHUNK / CT_LINE };
enum {
  CT_LINE_UNUSED,
  CT_LINE_CUT,
  CT_LINE_WHOLE
}; /* WHOLE + s: granule i is of lane (i >> s) after the first */

typedef struct CtGlobalChunk {
  atomic_flag lock;
  uint8_t shape[CT_LINES];
  uint32_t line_write[CT_LINES];          /* the last plain one */
  CtLatest *line_latest[CT_GLOBAL_KINDS]; /* by line; NULL: the kernel has no such access here */
  uint32_t *write; /* the same by granule, of lines that are cut; NULL: none is */
  CtLatest *latest[CT_GLOBAL_KINDS];
} CtGlobalChunk;

/* The memory of one tensor, or of several that overlap. */
typedef struct CtGlobalRegion {
  const char *begin, *end;
  bool is_written, is_read;
  bool has[CT_GLOBAL_KINDS]; /* does the kernel access it so? */
  uint32_t granule;          /* bytes: 1 << bits */
  int bits;
  size_t n_chunks;
  _Atomic(CtGlobalChunk *) *chunks; /* only if the region is written */
  _Atomic uint8_t *seen; /* by granule, if the region is only read: CT_SEEN_*; NULL: not kept */
} CtGlobalRegion;

struct CtGlobal {
  CtGlobalRegion *regions; /* in order */
  uint32_t n_regions;
  uint32_t *region_of; /* by buffer; UINT32_MAX: none. Of a chosen one the access says */
  bool any_written;
  _Atomic(CtCheckEvent *) *events;
  _Atomic uint32_t *next; /* chunk of events */
  /* of launches that run together: by block, when it last released, and at scope "sys"; NULL: too many blocks */
  _Atomic uint64_t *released, *released_sys;
  _Atomic uint64_t *proxied; /* by block: its last fence_proxy_async of global memory; NULL: the
                                kernel has no TMA, or too many blocks */
  bool has_too_many;
  bool is_shared; /* of a part: regions and events are of all launches */
};

/* Makes the regions of n launches. region_of[j] says in which of them each buffer of launch j is. *releases: a program
   has an atomic store or a fence. */
CtStatus ct_region_make(CtArena *arena, CtGlobal *g, const CtSimtJob *jobs, int n,
                        uint32_t **region_of) CT_NODISCARD;

/* Regions, shadows and events of n launches; NULL: no memory. ct_global_free frees what is not in the arena. */
CtGlobal *ct_global_make(CtArena *arena, const CtSimtJob *jobs, int n, uint32_t **region_of);
void ct_global_free(CtAlloc alloc, CtGlobal *g);
/* check_line.c: the chunk of a granule, made if needed; NULL: no memory. */
CtGlobalChunk *ct_line_chunk(CtCheckWorker *k, const CtGlobalRegion *r, size_t i);
void ct_line_free(CtAlloc alloc, CtGlobalChunk *chunk);
/* Gives the granules of a line words of their own; false: no memory. */
bool ct_line_cut(CtCheckWorker *k, CtGlobalChunk *chunk, size_t line);
/* The last plain write of a granule, or its latest access of a kind; of a whole line, with the lane of the first. */
static inline uint32_t ct_line_write(const CtGlobalChunk *chunk, size_t granule) {
  size_t line = granule / CT_LINE;
  return chunk->shape[line] == CT_LINE_CUT ? chunk->write[granule] : chunk->line_write[line];
}
static inline uint32_t ct_line_latest(const CtGlobalChunk *chunk, CtGlobalKind kind,
                                      size_t granule) {
  size_t line = granule / CT_LINE;
  return chunk->line_latest[kind] == NULL    ? 0
         : chunk->shape[line] == CT_LINE_CUT ? chunk->latest[kind][granule].word[0]
                                             : chunk->line_latest[kind][line].word[0];
}
/* The part's share of them. */
CtStatus ct_global_share(CtCheck *part, const CtGlobal *all, uint32_t *region_of,
                         CtErr *err) CT_NODISCARD;
static inline uint64_t ct_global_released(const CtGlobal *g, int64_t block) {
  return g->released == NULL ? UINT64_MAX : atomic_load(&g->released[block]);
}
static inline uint64_t ct_global_released_sys(const CtGlobal *g, int64_t block) {
  return g->released_sys == NULL ? UINT64_MAX : atomic_load(&g->released_sys[block]);
}

/* check_early.c: what the launch that has ended did to a granule. */
enum { CT_USE_READ = 1, CT_USE_READ_ATOMIC = 2, CT_USE_WRITE = 4, CT_USE_WRITE_ATOMIC = 8 };
uint8_t ct_early_uses(const CtGlobal *g, const CtGlobalRegion *r, size_t granule);

/* The region of the buffer that is accessed; NULL: none. */
const CtGlobalRegion *ct_region_at(const CtGlobal *g, const CtAccess *a);

static inline size_t ct_region_granules(const CtGlobalRegion *r) {
  return ((size_t)(r->end - r->begin) >> r->bits) + 1;
}

static inline const CtCheckEvent *ct_global_event(const CtGlobal *g, uint32_t number) {
  const CtCheckEvent *events =
      atomic_load_explicit(&g->events[number / CT_GLOBAL_EVENTS], memory_order_acquire);
  return &events[number % CT_GLOBAL_EVENTS];
}
/* The copy that is the event has been waited for, at the time of `wait`. */
static inline void ct_global_copy_done(const CtGlobal *g, uint32_t number,
                                       const CtCheckEvent *wait) {
  CtCheckEvent *events =
      atomic_load_explicit(&g->events[number / CT_GLOBAL_EVENTS], memory_order_acquire);
  CtCheckEvent *e = &events[number % CT_GLOBAL_EVENTS];
  e->end = (CtEventEnd){wait->epoch, wait->sub, wait->time, wait->component, wait->clock};
  __atomic_store_n(&e->done, wait->seq, __ATOMIC_RELEASE);
}

/* Has a block of either side called fence_proxy_async("global") since the older access, of the same launch? */
static inline bool ct_global_is_fenced(const CtGlobal *g, const CtCheckEvent *old,
                                       const CtCheckEvent *now) {
  return g->proxied == NULL || atomic_load(&g->proxied[now->block]) > old->seq ||
         atomic_load(&g->proxied[old->block]) > old->seq;
}

/* check_sums.c: compares two atomic accesses of a launch, the later one by k's block. */
void ct_sums_look(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now,
                  const CtCheckEvent *old, CtLanePair lanes, int64_t off);

#endif
