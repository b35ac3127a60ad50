/* nccl.h: NCCL, by dlopen: communicators of this process's ranks, collectives between devices, and the watch
   over both. nccl.c has the library and errors, nccl_work.c collectives and waiting, nccl_comm.c communicators.

   All communicators of one CtNccl fail together. Where one of them reports an error, or a collective takes longer
   than its limit, all are aborted, so that this process's devices are free again; the error says which rank was
   in which collective. Every wait for a device (ct_device_watch) asks how its collectives are.

   A communicator that blocks the host enqueues a call before it returns: a short time if all ranks are there, and
   without a limit if one is missing. One that does not has a thread of NCCL enqueue it, which takes several times as
   long; each call polls until it is done, up to the limit.

   One CtNccl is used by one thread at a time, that of its devices. NVLink multicast (NVLS) is off:
   NCCL_NVLS_ENABLE is set to 0 when the library is loaded. */
#ifndef CT_NCCL_H
#define CT_NCCL_H

#include "device.h"
#include "runtime/base/dtype.h"

typedef struct CtNccl CtNccl;
typedef struct CtComm CtComm; /* one rank in one communicator */

typedef struct CtNcclOptions {
  CtAlloc alloc;
  const volatile int *interrupt; /* not NULL: a value other than 0 ends waits */
  const bool *is_closing; /* not NULL: when true, collectives end in 10 seconds or are aborted */
} CtNcclOptions;

/* Loads the library at first use; CT_EMISSING, with the names tried, where there is none. */
CtStatus ct_nccl_new(const CtNcclOptions *options, CtNccl **out, CtErr *err) CT_NODISCARD;
/* Closes its communicators, as ct_comm_free does. NULL is allowed. */
void ct_nccl_free(CtNccl *n);

int ct_nccl_version(const CtNccl *n); /* 22809 for 2.28.9 */
bool ct_nccl_can_split(const CtNccl *n);

/* {====== Communicators ====== */

/* One rank of this process in a communicator that is to be made. */
typedef struct CtNcclMember {
  CtDevice *device;
  int rank;
  int world; /* what messages call it: its rank in the mesh */
} CtNcclMember;

typedef struct CtNcclOpen {
  const char *what; /* "for the mesh of 8 ranks", for messages */
  const char
      *address;   /* host:port where rank 0 is met by other processes; NULL: all ranks are here */
  int size;       /* ranks in all */
  double seconds; /* the limit */
  bool blocks;    /* calls block the host */
  int n;          /* ranks here */
  const CtNcclMember *members;
} CtNcclOpen;

/* out[i] is that of members[i]. They live until ct_comm_free. */
CtStatus ct_nccl_open(CtNccl *n, const CtNcclOpen *open, CtComm **out, CtErr *err) CT_NODISCARD;

/* Each rank of a communicator joins the new one of its color, in the order of keys. All ranks take part, in
   all processes. blocks: as in CtNcclOpen, of the new one's calls; making it is watched. */
typedef struct CtNcclPart {
  CtComm *of;
  int color, key;
  int size; /* ranks that have the color */
} CtNcclPart;
CtStatus ct_nccl_split(CtNccl *n, const char *what, double seconds, bool blocks,
                       const CtNcclPart *parts, int n_parts, CtComm **out, CtErr *err) CT_NODISCARD;

int ct_comm_rank(const CtComm *c);
int ct_comm_size(const CtComm *c);
bool ct_comm_is_open(const CtComm *c);
CtDevice *ct_comm_device(const CtComm *c);

/* Closes communicators together: what is enqueued comes to its end first, or to its limit, which is 10 seconds from
   now on at most. If it does not end, all are aborted. Frees the handles; NULLs are skipped. */
void ct_comm_free(CtNccl *n, CtComm **comms, int count);

/* Aborts all: what runs ends soon, and nobody can use them. Why, for messages: copied. */
void ct_nccl_abort(CtNccl *n, const char *why);

/* {====== Collectives: nccl_work.c ====== */

typedef enum CtNcclOp {
  CT_ALL_REDUCE,
  CT_REDUCE_SCATTER,
  CT_ALL_GATHER,
  CT_ALL_TO_ALL,
  CT_BROADCAST,
  CT_SEND,
  CT_RECV,
  CT_NCCL_OPS
} CtNcclOp;

typedef enum CtReduce { CT_REDUCE_SUM, CT_REDUCE_MAX, CT_REDUCE_MIN } CtReduce;

typedef struct CtNcclCall {
  CtComm *comm;
  CtNcclOp op;
  CtReduce reduce;
  CtDtype dtype;
  int peer; /* of a send or recv; the root of a broadcast */
  uint64_t
      count; /* elements: of a reduce_scatter, all_gather, all_to_all those of one rank's part */
  CtDevPtr src, dst;
  CtStream stream;
} CtNcclCall;

extern const char *const ct_nccl_ops[CT_NCCL_OPS]; /* "all_reduce" */

/* Enqueues the calls as one group. `what` says it for messages: "all_reduce of 64 f32 over 'data',
   train.lua:12". seconds: how long each may take once its device has come to it, and how long enqueueing may. */
CtStatus ct_nccl_run(CtNccl *n, const char *what, double seconds, const CtNcclCall *calls,
                     int n_calls, CtErr *err) CT_NODISCARD;

/* Around the launch of a graph that recorded collectives of c: it is watched as they are. What is recorded is not. */
CtStatus ct_nccl_begin(CtComm *c, const char *what, double seconds, CtErr *err) CT_NODISCARD;
CtStatus ct_nccl_end(CtComm *c, CtErr *err) CT_NODISCARD;

/* Waits until all that was enqueued is done. */
CtStatus ct_nccl_wait(CtNccl *n, CtErr *err) CT_NODISCARD;

/* The group `reps` times without any record or watch, as a program with NCCL alone would: for
   measurements. */
CtStatus ct_nccl_bare(CtNccl *n, const CtNcclCall *calls, int n_calls, int reps,
                      CtErr *err) CT_NODISCARD;

#endif
