/* banks.h: what one memory instruction of one warp costs a GPU: sectors of global memory,
   wavefronts of shared memory. These are pure functions of the lanes' byte addresses; profile.c
   counts with them. A request is one instruction of one warp.

   Global: memory is fetched in sectors of 32 bytes, four to a line of 128. A request takes as many
   sectors as its lanes touch. (CUDA C programming guide, "Device memory accesses"; Nsight Compute,
   "Sectors/Req".)

   Shared: there are 32 banks of 4 bytes. A wavefront serves one word of each bank, to any number
   of lanes. A request comes in phases: one of 32 lanes for up to 4 bytes a lane, two of 16 lanes
   for 8 bytes, four of 8 lanes for 16 bytes. A phase takes as many wavefronts as the fullest bank
   has different words. (CUDA C programming guide, "Shared memory" of compute capability 5.x, for
   4 and 8 bytes; the forum of NVIDIA's developers, "Unexpected shared memory bank conflict", for
   16.) From the same answer: loads of 8 and 16 bytes take half as many phases, each of twice as
   many lanes, if all pairs of active lanes (n, n xor 1), or all pairs (n, n xor 2), have the same
   address. Stores are not merged.

   A phase without active lanes takes no wavefront. `ideal` is the number of phases that have some;
   wavefronts beyond that are bank conflicts. */
#ifndef CT_WATCH_BANKS_H
#define CT_WATCH_BANKS_H

#include "runtime/base/base.h"

enum { CT_SECTOR_BYTES = 32, CT_BANKS = 32, CT_BANK_BYTES = 4, CT_MAX_LANE_BYTES = 16 };

/* Lists the sectors that the lanes of the mask touch; each lane accesses `bytes` bytes from
   at[lane] on. The list has sector numbers in the order of lanes, at most two for each lane.
   Returns how many. Addresses may be misaligned; bytes is at most 32. */
enum { CT_MAX_SECTORS = 64 };
int ct_sectors(const int64_t at[32], uint32_t mask, int bytes, int64_t out[CT_MAX_SECTORS]);

typedef struct CtWavefronts {
  int n, ideal;
} CtWavefronts;

/* bytes is 1, 2, 4, 8 or 16; the addresses are multiples of it. */
CtWavefronts ct_wavefronts(const int64_t at[32], uint32_t mask, int bytes, bool is_store);

#endif
