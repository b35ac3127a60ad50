/* banks.h: what one memory instruction of one warp costs a GPU: sectors of global memory,
   wavefronts of shared memory. Pure functions of the lanes' byte addresses; profile.c counts with
   them.

   Global: memory is fetched in sectors of 32 bytes, four to a line of 128; a request (one instruction of
   one warp) takes as many as its lanes touch. (CUDA C programming guide, "Device memory accesses"; Nsight
   Compute, "Sectors/Req".)

   Shared: 32 banks of 4 bytes. A wavefront serves one word of each bank, to any number of lanes. A request
   of at most 4 bytes a lane is one phase of 32 lanes, one of 8 bytes two phases of half a warp, one of 16
   bytes four phases of a quarter; a phase takes as many wavefronts as some bank has different words.
   (CUDA C programming guide, "Shared memory" of compute capability 5.x, for 4 and 8 bytes; the forum of
   NVIDIA's developers, "Unexpected shared memory bank conflict", for 16.) From the same answer: loads of 8
   and 16 bytes take half as many phases, of twice as many lanes, where all pairs of active lanes
   (n, n xor 1), or all pairs (n, n xor 2), have the same address. Stores are not merged.

   Phases without active lanes take none. `ideal` is the number of phases that have some: what is beyond
   it are bank conflicts. */
#ifndef CT_WATCH_BANKS_H
#define CT_WATCH_BANKS_H

#include "runtime/base/base.h"

enum { CT_SECTOR_BYTES = 32, CT_BANKS = 32, CT_BANK_BYTES = 4, CT_MAX_LANE_BYTES = 16 };

/* The sectors that lanes of the mask touch, each with `bytes` bytes from at[lane] on, in the order in which
   they are met: numbers of sectors, at most 32 lanes times 2. Returns how many. Addresses may be
   misaligned, bytes is at most 32. */
enum { CT_MAX_SECTORS = 64 };
int ct_sectors(const int64_t at[32], uint32_t mask, int bytes, int64_t out[CT_MAX_SECTORS]);

typedef struct CtWavefronts {
  int n, ideal;
} CtWavefronts;

/* bytes: 1, 2, 4, 8 or 16, which the addresses are multiples of. */
CtWavefronts ct_wavefronts(const int64_t at[32], uint32_t mask, int bytes, bool is_store);

#endif
