/* profile_merge.h: what requests cost where a compiler makes one request of neighbours. The instructions of a
   program ask for few bytes of a lane at once where a script indexes element by element; a compiler that sees
   several of them may take up to 16 bytes. Which it took, only its code says. So requests are counted at five
   levels: at level n neighbours were merged up to 1 << n bytes a lane.

   Neighbours are requests of one warp with the same lanes, the same distance in each lane, and aligned in each
   lane. They wait in a window until something comes that no compiler moves them over: a synchronisation, or an
   access of the other kind to the same tensor. A load that always finds its value in the window, without a branch
   or loop between, is none: compilers keep the value. */
#ifndef CT_WATCH_PROFILE_MERGE_H
#define CT_WATCH_PROFILE_MERGE_H

#include "profile.h"

enum { CT_MERGE_BYTES = 16 };

/* One request: what lanes of a warp ask for by one instruction. */
typedef struct CtProfileRequest {
  uint32_t mask;
  int bytes; /* of a lane */
  int64_t at[CT_LANES], off[CT_LANES];
} CtProfileRequest;

/* Requests that lie in the same 16 bytes of the first lane. */
typedef struct CtMergeRun {
  uint32_t mask, buf, stretch;
  bool reads, writes;
  uint8_t align;                 /* up to 1 << align bytes lie alike in all lanes */
  uint16_t covered;              /* bytes, by their place in the first lane's 16 */
  uint8_t size[CT_MERGE_BYTES];  /* of the request that asks for the byte, as a power of two, */
  uint32_t site[CT_MERGE_BYTES]; /* and its site */
  int64_t at[CT_LANES];          /* of place 0 */
} CtMergeRun;

enum { CT_MERGE_RUNS = 64 };
typedef struct CtMergeWindow {
  CtMergeRun runs[CT_MERGE_RUNS];
  uint32_t n, oldest, stretch;
  const CtWarp *warp; /* whose requests wait */
  bool has_lost;      /* one left, for lack of room, that could have merged */
} CtMergeWindow;

struct CtProfileAt;

/* What counting needs, and where counts go: by site. */
typedef struct CtMergeSink {
  const CtProfileSite *sites;
  const struct CtProfileAt *ats;
  CtProfileMerged *merged;
  CtProfileMerged *only; /* not NULL: all counts go here */
} CtMergeSink;

/* Can the requests of the site be merged with others at all? */
bool ct_merge_wants(const CtProfileSite *s, const struct CtProfileAt *at);
void ct_merge_add(CtMergeWindow *w, const CtMergeSink *to, uint32_t site,
                  const CtProfileRequest *r);
/* Counts what waits. */
void ct_merge_flush(CtMergeWindow *w, const CtMergeSink *to);
/* An execution of the site that does not go into the window: counts what waits and must not be moved over it. */
void ct_merge_over(CtMergeWindow *w, const CtMergeSink *to, uint32_t site);
/* Is nothing in the window that could merge with what comes? */
bool ct_merge_is_closed(const CtMergeWindow *w);
void ct_merge_sum(CtProfileMerged *to, const CtProfileMerged *m);
/* Counts what was repeated, too, of a site of so many requests, unless all of it was: then a compiler knows
   that. What sometimes has an address that another one has, it does not. */
void ct_merge_settle(CtProfileMerged *m, uint64_t requests);

#endif
