/* profile_rows.h: what `profile` counts in a program. It has a row for each instruction of the
   body that it watches, and a site for each operand of such an instruction in global or shared
   memory. For profile.c. */
#ifndef CT_WATCH_PROFILE_ROWS_H
#define CT_WATCH_PROFILE_ROWS_H

#include "profile_site.h"

enum { CT_PROFILE_NO_ROW = -1 };

typedef struct CtProfileRows {
  CtProfileProgram pub;
  CtArena arena;
  CtProfileAt *ats; /* by site */
  int32_t *row_of;  /* by instruction of the body; or CT_PROFILE_NO_ROW */
  uint32_t *first;  /* by row: its sites are first[row] .. first[row + 1] - 1 */
  uint64_t *each;   /* by row: arithmetic of one thread */
} CtProfileRows;

bool ct_profile_wants(const CtIn *code);

CtStatus ct_profile_rows_new(CtAlloc alloc, const CtSimtProgram *p, uint64_t tag,
                             CtProfileRows **out, CtErr *err) CT_NODISCARD;
void ct_profile_rows_free(CtAlloc alloc, CtProfileRows *pr);

/* profile_box.c: the boxes of TMA that a launch asked for, and which of them are asked for at
   the same time by blocks that run together. For profile.c. */

enum { CT_PROFILE_BOXES = 1 << 20 }; /* how many boxes a worker notes at most */

/* A box of a tma_load. */
typedef struct CtProfileBox {
  uint64_t place; /* made from its coordinates; the same for the same box */
  uint32_t map;   /* a site: the first one with this map */
  uint32_t block;
  uint32_t step;  /* its number among the block's boxes of this map */
  uint32_t bytes; /* inside the tensor */
} CtProfileBox;

/* Fills in what a site has to know about its map. */
void ct_profile_set_map(CtProfileSite *site, const CtSimtTma *t);
/* The first of the sites 0 .. i with the map of site i. */
uint32_t ct_profile_map_of(const CtProfileSite *sites, uint32_t i);

/* Counts the boxes that the active lanes of an instruction ask for, at a site that is a box. */
void ct_profile_count_boxes(const CtProfileJob *job, CtProfileWorker *k, uint32_t site,
                            const CtIn *code, CtWarp *w);

/* Adds up boxes, which it sorts; see ct_profile_waves. */
void ct_profile_add_waves(CtProfileBox *boxes, size_t n, int64_t n_blocks, CtProfileWave *by_site);

/* profile_state.c: what `profile` keeps, for profile.c, which counts, and profile_memory.c, which makes room. */

struct CtProfile {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  uint64_t tag;
  int64_t n_blocks; /* how many blocks run; 0: all */
  bool is_spread;   /* over the grid */
  bool merges;
  uint32_t n_patterns;
  CtProfileRows **programs;
  size_t n, cap;
  CtProfileWorker *workers;
  size_t n_workers, cap_workers;
  CtProfileCache *caches; /* by thread */
  size_t cap_caches;
  bool no_memory; /* for lack of memory something was not recorded */
  CtProfile *of;  /* of a part: whose programs it counts for; NULL: its own */
  CtProfile **parts;
  size_t n_parts, n_made, cap_parts; /* in use, made */
  /* From here on: the current launch. */
  CtProfileRows *now;
  int64_t *n_sectors; /* by param */
  size_t cap_sectors;
  CtProfileJob job;
};

/* Of the marks of so many sectors. */
static inline size_t ct_profile_pages(const CtProfile *p, int64_t n_sectors) {
  int64_t n_words = p->job.has_bits ? ct_ceildiv(n_sectors, 32) : n_sectors;
  return (size_t)ct_ceildiv(n_words, CT_PROFILE_PAGE);
}

/* Makes the counts of a launch's workers, with nothing in them: pages and tables of the launch before serve again. */
CtStatus ct_profile_prepare(CtProfile *p, const CtSimtJob *job, CtErr *err) CT_NODISCARD;
/* Frees what workers and their threads count in. */
void ct_profile_free_workers(CtProfile *p);

#endif
