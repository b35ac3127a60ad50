/* profile_box.h: the boxes of TMA that a launch asked for, and which of them are asked for at
   the same time by blocks that run together. For profile.c. */
#ifndef CT_WATCH_PROFILE_BOX_H
#define CT_WATCH_PROFILE_BOX_H

#include "profile_site.h"

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

#endif
