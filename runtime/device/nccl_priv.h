/* nccl_priv.h: what the files of NCCL share: nccl.c (the library, errors), nccl_work.c (collectives and the
   watch over them) and nccl_comm.c (communicators). */
#ifndef CT_NCCL_PRIV_H
#define CT_NCCL_PRIV_H

#include "device_priv.h"
#include "nccl.h"
#include "nccl_types.h"

enum { CT_NCCL_WHAT = 200, CT_NCCL_CLOSE_S = 10 };

typedef struct CtNcclLib {
#define X(need, name, args) NcclResult(*name) args;
#include "nccl_syms.def"
#undef X
  const char *(*ncclGetErrorString)(NcclResult r);
  const char *(*ncclGetLastError)(NcclComm comm); /* may be NULL */
  int version;
} CtNcclLib;

/* A collective of one rank that was enqueued and is not known to be done. */
typedef struct CtNcclWork {
  CtEvent begin, end; /* marks; NULL: not made yet */
  CtStream stream;    /* where they are */
  int64_t since;      /* when the device was seen to have come to it, ns; 0: not yet */
  int64_t limit;      /* ns */
  char what[CT_NCCL_WHAT];
} CtNcclWork;

struct CtComm {
  CtNccl *of;
  CtComm *next;
  CtDevice *device;
  NcclComm comm; /* NULL: not made, closed or aborted */
  int rank, size, world;
  bool blocks;       /* its calls are enqueued when they return */
  CtNcclWork *works; /* a ring of `cap`, a power of two: n from `first` on */
  size_t cap, first, n;
};

struct CtNccl {
  CtAlloc alloc;
  const CtNcclLib *lib;
  const volatile int *interrupt;
  const bool *is_closing;
  CtComm *comms; /* the newest first */
  char why[512]; /* what aborted them last; "": nothing did */
};

/* {====== nccl.c ====== */

/* Was one of the devices given up? NCCL would wait for it even to abort, so it is called no more. */
bool ct_nccl_is_stuck(const CtNccl *n);

/* A device that a kernel keeps from its communicator's collectives, or from its end; NULL: there is none. *failed: the
   error of another one. */
CtDevice *ct_nccl_find_held(const CtNccl *n, CtStatus *failed, CtErr *err);

/* What fails here leaves communicators in the middle of something: all are aborted. The message is the format's,
   with what was done about it. */
CtStatus ct_nccl_fail(CtNccl *n, CtStatus status, CtErr *err, const char *fmt, ...) CT_PRINTF(4, 5);
/* The same of a result of NCCL's. c: whose rank it was, or NULL. */
CtStatus ct_nccl_fail_result(CtNccl *n, const CtComm *c, const char *what, NcclResult r,
                             CtErr *err);

/* A result that says more than that NCCL goes on in the background. */
static inline bool ct_nccl_is_bad(NcclResult r) {
  return r != CT_NCCL_SUCCESS && r != CT_NCCL_IN_PROGRESS;
}

/* Until no communicator of the list is in progress; `what` is. Aborts all at an error, at the limit and at an
   interrupt. */
CtStatus ct_nccl_settle(CtNccl *n, CtComm *const *comms, int count, const char *what,
                        double seconds, CtErr *err) CT_NODISCARD;

/* Rests a little, once it has been more than a moment since `start`. */
void ct_nccl_nap(int64_t start);
int64_t ct_nccl_ns(double seconds);

/* {====== nccl_work.c ====== */

/* A CtDeviceWatch of a CtNccl. */
CtStatus ct_nccl_ask(void *nccl, CtErr *err);
/* Waits for the works of these communicators; NULLs are skipped. */
CtStatus ct_nccl_wait_for(CtNccl *n, CtComm *const *comms, int count, CtErr *err) CT_NODISCARD;
/* From now on none of its works may take longer than CT_NCCL_CLOSE_S. */
void ct_nccl_hurry(CtComm *c);
void ct_nccl_free_works(CtComm *c);

#endif
