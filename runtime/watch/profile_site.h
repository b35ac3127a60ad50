/* profile_site.h: one operand of one instruction, and what its requests cost. For profile.c. */
#ifndef CT_WATCH_PROFILE_SITE_H
#define CT_WATCH_PROFILE_SITE_H

#include "banks.h"
#include "profile.h"
#include "profile_merge.h"

enum { CT_PROFILE_MEMOS = 4096, CT_PROFILE_POOL = 1 << 16 };

/* Where an operand is. `is_fast`: the distances of its lanes are fixed for a launch and a warp.
   Then its cost depends only on the warp, the mask, and the place of its base in a sector or
   bank. */
typedef struct CtProfileAt {
  bool is_fast, is_guarded, is_swizzled, wraps;
  bool is_scalar;  /* of one element of each lane, by itself */
  uint8_t operand; /* in what ct_simt_accesses gives */
  uint32_t base;   /* scalar slot */
  int64_t imm;
  CtDtype dtype;
  CtSpace space;
  uint32_t buf, param;
} CtProfileAt;

/* What such a request of a warp costs, and the sectors that it touches: rel[0..n_rel-1] of the
   pool, relative to the sector of its base. n_rel is -1 if they are not kept. */
typedef struct CtProfileMemo {
  uint64_t age; /* the launch in which it was made */
  uint32_t site, mask, key;
  int32_t warp, n_rel;
  uint32_t rel;
  CtProfileMem add;
  bool
      is_open; /* what it is with neighbours depends on what comes before and after; else `merged` */
  CtProfileMerged merged;
} CtProfileMemo;

/* What the requests cost that came before; for all workers of one thread. */
typedef struct CtProfileCache {
  CtProfileMemo *memos;
  int32_t *pool;
  size_t cap_memos, cap_pool;
  uint32_t n_pool;
  uint64_t age;
  CtMergeWindow own; /* of one execution */
} CtProfileCache;

enum { CT_PROFILE_PAGE = 4096 };

/* By sector of a tensor: 1 + the last block that touched it; 0: no block did. In a cooperative
   launch a worker has one block only: then each sector has one bit. They lie in pages of
   CT_PROFILE_PAGE words, made when one is touched: blocks that were sampled touch few. */
typedef struct CtProfileMarks {
  uint32_t **pages; /* NULL: not touched */
  size_t cap;
  uint64_t n_blocks; /* the sum over all blocks of the different sectors of each */
} CtProfileMarks;

/* The counts of one worker. */
typedef struct CtProfileWorker {
  CtProfileCount *counts;
  CtProfileMem *mems;
  uint32_t *came; /* by row: the warps of this block that executed it */
  uint32_t *seen; /* by site: executions of the first block that were recorded */
  CtProfileCache *cache;
  CtProfileMarks *marks; /* by param: of reads, of writes */
  CtProfilePattern *patterns;
  size_t cap_counts, cap_mems, cap_came, cap_seen, cap_marks, cap_patterns;
  uint32_t n_patterns;
  uint64_t n_of_block, n_counted, n_most; /* executions: of this block, of all, the most of one */
  uint32_t *steps;                        /* by site: boxes of its map in this block */
  struct CtProfileBox *boxes;
  size_t cap_steps, n_boxes, cap_boxes;
  bool lacks_boxes;
  bool no_memory;          /* for lack of memory something was not recorded */
  CtProfileMerged *merged; /* by site; only where the job merges, as the window */
  size_t cap_merged, cap_window;
  CtMergeWindow *window;
} CtProfileWorker;

/* What counting needs to know about a launch. */
typedef struct CtProfileJob {
  CtAlloc alloc;
  const CtProfileSite *sites;
  const CtProfileAt *ats;
  const int64_t *n_sectors; /* by param: how many sectors its marks have room for */
  int64_t n_recorded;       /* how many blocks are recorded, from the first on: */
  uint32_t n_patterns;      /* n_patterns requests of each site, in as many executions */
  int64_t n_counted;        /* how many blocks are counted, from the first on */
  bool notes_boxes;
  bool has_bits; /* its marks are bits */
  bool merges;
} CtProfileJob;

/* Finds out where an operand of `code` is; `operand` is its number in the order of
   ct_simt_accesses. */
CtProfileAt ct_profile_at(const CtSimtProgram *p, const CtIn *code, int operand, uint32_t buf);

/* Notes that a block reads or writes a sector of the site's tensor, counted from the tensor's
   beginning. */
void ct_profile_touch(const CtProfileJob *job, CtProfileWorker *k, uint32_t site, uint32_t block,
                      int64_t sector);
/* Adds what a request of the site costs. */
void ct_profile_cost(const CtProfileSite *site, const CtProfileAt *at, const CtProfileRequest *r,
                     CtProfileMem *add);
void ct_profile_add_mem(CtProfileMem *to, const CtProfileMem *m);

/* Counts an execution for one operand of the instruction, which must not be a box. */
void ct_profile_count(const CtProfileJob *job, CtProfileWorker *k, uint32_t site, const CtIn *code,
                      const CtIn *in, CtWarp *w);

/* Counts what waits for neighbours: nothing is moved over what comes. */
void ct_profile_settle(const CtProfileJob *job, CtProfileWorker *k);
/* From now on this warp runs. */
void ct_profile_turn(const CtProfileJob *job, CtProfileWorker *k, const CtWarp *w);

#endif
