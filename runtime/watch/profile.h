/* profile.h: counts what the kernels of watched launches do: executions, memory requests and what
   they cost a GPU (banks.h), arithmetic, divergence. It is a watcher: see simt_watch.h.

   It counts by instruction of the lowered program, and by operand in global or shared memory; both
   know their script line. It counts what the emitted CUDA C asks for, and on request also what that is where the
   compiler merges neighbours up to so many bytes (profile_merge.h). */
#ifndef CT_WATCH_PROFILE_H
#define CT_WATCH_PROFILE_H

#include "runtime/simt/run/simt_watch.h"

typedef struct CtProfile CtProfile;
enum { CT_PROFILE_PATTERNS = 64 };

/* Classes of arithmetic. The number says how many flops the roofline counts for one. */
typedef enum CtProfileWork {
  CT_WORK_NONE,
  CT_WORK_FMA,     /* 2 */
  CT_WORK_FLOP,    /* 1: + - * */
  CT_WORK_SPECIAL, /* division, roots, exponentials, ...: not counted as flops */
  CT_WORK_INT,     /* multiply-adds of an integer GEMM, or of dp4a */
  CT_WORK_MMA      /* instructions of tensor cores, 32 for each that a warp runs */
} CtProfileWork;

/* One instruction. All counts are of warps' executions, except lanes and work: of threads. */
typedef struct CtProfileCount {
  uint64_t n, lanes;
  uint64_t partial; /* executions by fewer lanes than the warp has */
  uint64_t came;    /* warps that executed it at all */
  uint64_t splits;  /* a branch: some lanes went one way and some the other */
  uint64_t work;
} CtProfileCount;

/* One operand of one instruction. */
typedef struct CtProfileMem {
  uint64_t requests, lanes;   /* requests of warps; the lanes in them */
  uint64_t slots;             /* those too that no lane is in */
  uint64_t bytes;             /* bytes that lanes asked for */
  uint64_t used;              /* global: different bytes within each request */
  uint64_t sectors;           /* global */
  uint64_t cache_lines;       /* global: lines of 128 bytes, summed over requests */
  uint64_t wavefronts, ideal; /* shared */
  uint64_t
      delivered; /* box: bytes that it moves into, or out of, the shared memory of all its blocks */
} CtProfileMem;

/* One operand of one instruction, where neighbours were merged up to 1 << level bytes of a lane. A merged request
   counts at the operand that asked first. */
enum { CT_MERGE_LEVELS = 5 };
typedef struct CtProfileMerged {
  CtProfileMem at[CT_MERGE_LEVELS];
  uint64_t sizes[CT_MERGE_LEVELS][CT_MERGE_LEVELS]; /* [level][n]: of 1 << n bytes a lane */
  CtProfileMem repeated;                            /* not in them: what other operands had read, */
  uint64_t repeated_sizes[CT_MERGE_LEVELS];         /* by bytes of a lane */
} CtProfileMerged;

/* A request that was recorded, as the lanes' offsets in elements of the tensor. */
typedef struct CtProfilePattern {
  uint32_t site;
  uint32_t mask;
  int32_t warp;
  uint64_t n;          /* how often it was seen among the recorded requests */
  int32_t cost, ideal; /* global: sectors, and of the bytes used; shared: wavefronts, phases */
  int64_t off[CT_LANES];
} CtProfilePattern;

/* What stays the same from launch to launch. */
typedef struct CtProfileIn {
  CtLoc loc;
  uint16_t op;  /* CtSimtOp */
  uint8_t work; /* CtProfileWork */
  bool is_f64, is_branch, is_barrier;
  bool is_behind; /* after a jump, a loop or a barrier: no compiler moves loads to before that */
  /* instructions of a warp; 8 bytes count as two. Votes are also matches and reductions */
  uint8_t n_shuffles, n_votes;
  uint16_t wgmma_n, wgmma_k; /* a product by wgmma has instructions m64nNkK; 0: it is not one */
  uint32_t macs;             /* CT_WORK_MMA: multiply-adds of a warp in one instruction; */
  uint8_t mac_bits;          /* and bits of an element of its operands */
} CtProfileIn;
/* What the other side of a copy is in a product by an MMA atom. The atom then fixes which
   elements a thread has. */
typedef enum CtProfileMma {
  CT_PROFILE_MMA_NONE,
  CT_PROFILE_MMA_OPERAND,
  CT_PROFILE_MMA_SUM
} CtProfileMma;
typedef struct CtProfileSite {
  uint32_t in; /* index in rows */
  uint32_t buf;
  CtAccessRole role;
  bool reads, writes, is_atomic, is_async;
  bool is_box;    /* tma_load or tma_store: a request is a whole box */
  uint8_t mma;    /* CtProfileMma */
  bool is_matrix; /* ldmatrix or stmatrix: eight rows of 16 bytes at once */
  CtWidth width;
  bool can_merge;  /* with neighbours, if a compiler likes */
  bool may_repeat; /* what another instruction has read */
  bool reduces;    /* is_box: its map */
  uint8_t n_box;   /* dimensions */
  uint8_t swizzle; /* of 16 << swizzle bytes; 0: none */
  uint16_t box[5]; /* elements */
  uint8_t n_call;  /* boxes of the call, and the smallest possible number; 0: not known */
  uint8_t n_fewest;
  uint16_t fewest[5]; /* elements of one box of that smallest number; 0: no further dimension */
  uint32_t map;       /* the first site with the same map */
} CtProfileSite;
typedef struct CtProfileBuf {
  const char *name;
  CtSpace space;
  CtDtype dtype;
  bool is_local; /* register: a local array, declared at the line */
  int32_t line;
  int64_t n_elems;                    /* global: in the last launch */
  bool is_known;                      /* global: these are known */
  uint64_t read_once, written_once;   /* global: different sectors of the launch */
  uint64_t read_block, written_block; /* the same block by block, summed */
} CtProfileBuf;

/* All launches with one tag. */
typedef struct CtProfileProgram {
  uint64_t tag;
  const char *name;
  int64_t grid[3], block[3]; /* those of the last launch */
  uint64_t n_launches;
  uint64_t n_failed;          /* of these; only what ran before is counted */
  int64_t n_ran;              /* blocks of the last launch that ran */
  uint64_t n_warps;           /* that ran in all launches */
  uint64_t n_counted, n_most; /* counted executions of all launches, and the most of one block */
  uint32_t shared_bytes;
  const char **chunks;
  uint32_t n_rows, n_sites, n_bufs;
  CtProfileIn *rows;
  CtProfileCount *counts; /* by row */
  CtProfileSite *sites;
  CtProfileMem *mems;      /* by site */
  CtProfileMerged *merged; /* by site */
  bool has_merged;         /* that was asked for */
  CtProfileBuf *bufs;      /* [0] unused */
  CtProfilePattern *patterns;
  uint32_t n_patterns;
  struct CtProfileBox *boxes; /* the boxes of tma_load in the first launch; profile_rows.h */
  size_t n_boxes;
  bool lacks_boxes; /* there were too many boxes */
} CtProfileProgram;

CtStatus ct_profile_open(CtAlloc alloc, CtProfile **out, CtErr *err) CT_NODISCARD;
void ct_profile_close(CtProfile *p);
CtSimtWatch *ct_profile_watch(CtProfile *p);
/* Launches with the same tag are launches of the same program and are counted together. */
void ct_profile_tag(CtProfile *p, uint64_t tag);
/* From the next launch on, only the first n_blocks blocks run, and all of them are recorded:
   n_patterns different requests of each operand and worker, in at most as many executions. With
   0 it is as at first: all blocks run, and CT_PROFILE_PATTERNS requests of the first block are
   recorded. */
void ct_profile_limit(CtProfile *p, int64_t n_blocks, uint32_t n_patterns);
/* With a limit of blocks: those that run are spread over the grid. The first one is among them. Launches whose blocks
   wait for each other run the first ones all the same. */
void ct_profile_spread(CtProfile *p);
/* From the next launch on, what merging makes of requests is counted, too. */
void ct_profile_merge(CtProfile *p);
bool ct_profile_knows(const CtProfile *p, uint64_t tag); /* it was launched */
bool ct_profile_is_partial(const CtProfile *p); /* memory ran out, and something was not recorded */
uint32_t ct_profile_size(const CtProfile *p);
const CtProfileProgram *ct_profile_program(const CtProfile *p, uint32_t i);

/* The boxes of the first launch of program i, by the site that stands for their map. It counts
   the bytes of different boxes: in the whole launch, in each wave, and in each step. A wave is
   n_blocks consecutive blocks. Step s has the s-th box of this map of each block of the wave.
   by_site has n_sites entries. */
typedef struct CtProfileWave {
  uint64_t unique, together;
} CtProfileWave;
void ct_profile_waves(CtProfile *p, uint32_t i, int64_t n_blocks, CtProfileWave *by_site);

#endif
