/* profile_box.h: boxes of TMA that a launch asked for, and which of them blocks that run at the same time
   ask for together: for profile.c. */
#ifndef CT_WATCH_PROFILE_BOX_H
#define CT_WATCH_PROFILE_BOX_H

#include "profile_site.h"

enum { CT_PROFILE_BOXES = 1 << 20 }; /* that a worker notes, at most */

/* A box of a tma_load. */
typedef struct CtProfileBox {
  uint64_t place; /* of its coordinates; the same for the same box */
  uint32_t map;   /* a site: the first one with this map */
  uint32_t block;
  uint32_t step;  /* of the block's boxes of this map */
  uint32_t bytes; /* inside the tensor */
} CtProfileBox;

/* Fills in what a site is to know of its map. */
void ct_profile_set_map(CtProfileSite *site, const CtSimtTma *t);
/* The first of the sites 0 .. i with the map of site i. */
uint32_t ct_profile_map_of(const CtProfileSite *sites, uint32_t i);

/* Counts the boxes of an instruction's active lanes, at a site that is a box. */
void ct_profile_count_boxes(const CtProfileJob *job, CtProfileWorker *k, uint32_t site,
                            const CtIn *code, CtWarp *w);

/* Adds up boxes, which it sorts; see ct_profile_waves. */
void ct_profile_add_waves(CtProfileBox *boxes, size_t n, int64_t n_blocks, CtProfileWave *by_site);

#endif
