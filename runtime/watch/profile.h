/* profile.h: counts what the kernels of watched launches do: executions, memory requests and what they
   cost a GPU (banks.h), arithmetic, divergence. A watcher: see simt_watch.h.

   Counts are by instruction of the lowered program, and by operand of it that is in global or shared
   memory; each knows its script line. What is counted is what the emitted CUDA C asks for: ptxas may
   merge adjacent scalar accesses, and takes out what it can prove to be redundant. */
#ifndef CT_WATCH_PROFILE_H
#define CT_WATCH_PROFILE_H

#include "runtime/simt/run/simt_watch.h"

typedef struct CtProfile CtProfile;
enum { CT_PROFILE_PATTERNS = 64 };

/* A class of arithmetic, by what `flops` of a roofline are. */
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
  uint64_t partial; /* by fewer lanes than the warp has */
  uint64_t splits;  /* of a branch: some lanes went one way and some the other */
  uint64_t work;
} CtProfileCount;

/* One operand of one instruction. */
typedef struct CtProfileMem {
  uint64_t requests, lanes;   /* of warps; of their lanes */
  uint64_t bytes;             /* that lanes asked for */
  uint64_t used;              /* global: different bytes, request by request */
  uint64_t sectors;           /* global */
  uint64_t wavefronts, ideal; /* shared */
  uint64_t delivered; /* box: bytes that shared memory of all blocks that get it takes, or gives */
} CtProfileMem;

/* A request that was recorded, as the lanes' offsets in elements of the tensor. */
typedef struct CtProfilePattern {
  uint32_t site;
  uint32_t mask;
  int32_t warp;
  uint64_t n;          /* times seen, within what is recorded */
  int32_t cost, ideal; /* global: sectors, and of the bytes used; shared: wavefronts, phases */
  int64_t off[CT_LANES];
} CtProfilePattern;

/* What does not change from launch to launch. */
typedef struct CtProfileIn {
  CtLoc loc;
  uint16_t op;  /* CtSimtOp */
  uint8_t work; /* CtProfileWork */
  bool is_f64, is_branch, is_barrier;
  uint8_t n_shuffles, n_votes; /* instructions of a warp: a shuffle of 8 bytes is two */
  uint16_t wgmma_n, wgmma_k;   /* of a product by wgmma: its instructions are m64nNkK; 0: none */
} CtProfileIn;
/* What a copy's other side is to a product by an MMA atom, which fixes the elements that a thread has. */
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
  bool is_box;    /* of tma_load or tma_store: a request is a whole box */
  uint8_t mma;    /* CtProfileMma */
  bool is_matrix; /* of ldmatrix or stmatrix: eight rows of 16 bytes at once */
  CtWidth width;
  bool reduces;    /* is_box: its map */
  uint8_t n_box;   /* dimensions */
  uint8_t swizzle; /* of 16 << swizzle bytes; 0: none */
  uint16_t box[5]; /* elements */
  uint8_t n_call;  /* boxes of the call, and the fewest it could be; 0: not known */
  uint8_t n_fewest;
  uint16_t fewest[5]; /* elements of one of those; 0: no further dimension */
  uint32_t map;       /* the first site with the same map */
} CtProfileSite;
typedef struct CtProfileBuf {
  const char *name;
  CtSpace space;
  CtDtype dtype;
  int64_t n_elems;                    /* of a global one: in the last launch */
  bool is_known;                      /* global: these are known */
  uint64_t read_once, written_once;   /* global: different sectors of the launch */
  uint64_t read_block, written_block; /* the same block by block, summed */
} CtProfileBuf;

/* All launches of one tag. */
typedef struct CtProfileProgram {
  uint64_t tag;
  const char *name;
  int64_t grid[3], block[3]; /* of the last launch */
  uint64_t n_launches;
  uint32_t shared_bytes;
  const char **chunks;
  uint32_t n_rows, n_sites, n_bufs;
  CtProfileIn *rows;
  CtProfileCount *counts; /* by row */
  CtProfileSite *sites;
  CtProfileMem *mems; /* by site */
  CtProfileBuf *bufs; /* [0] unused */
  CtProfilePattern *patterns;
  uint32_t n_patterns;
  struct CtProfileBox *boxes; /* of tma_load, of the first launch; profile_box.h */
  size_t n_boxes;
  bool lacks_boxes; /* there were too many */
} CtProfileProgram;

CtStatus ct_profile_open(CtAlloc alloc, CtProfile **out, CtErr *err) CT_NODISCARD;
void ct_profile_close(CtProfile *p);
CtSimtWatch *ct_profile_watch(CtProfile *p);
/* Launches of equal tags are launches of the same program, and are counted together. */
void ct_profile_tag(CtProfile *p, uint64_t tag);
/* From the next launch on: only the first n_blocks blocks run, and all of them are recorded, n_patterns
   different requests of each operand and worker, in as many executions. 0: as at first: all blocks run,
   CT_PROFILE_PATTERNS requests of the first are recorded. */
void ct_profile_limit(CtProfile *p, int64_t n_blocks, uint32_t n_patterns);
bool ct_profile_knows(const CtProfile *p, uint64_t tag); /* it was launched */
bool ct_profile_is_partial(const CtProfile *p); /* memory ran out, and something was not recorded */
uint32_t ct_profile_size(const CtProfile *p);
const CtProfileProgram *ct_profile_program(const CtProfile *p, uint32_t i);

/* Boxes of program i's first launch by the site that is their map: bytes of different boxes, and of those that
   are different wave by wave, step by step: n_blocks consecutive blocks make a wave, and their s-th boxes of a
   map step s. by_site: n_sites of them. */
typedef struct CtProfileWave {
  uint64_t unique, together;
} CtProfileWave;
void ct_profile_waves(CtProfile *p, uint32_t i, int64_t n_blocks, CtProfileWave *by_site);

#endif
