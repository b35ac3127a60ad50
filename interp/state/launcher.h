/* launcher.h: which of how many processes this one is, by the environment that a launcher gave it: torchrun,
   mpirun of Open MPI or MPICH, srun. */
#ifndef CUTTLE_LAUNCHER_H
#define CUTTLE_LAUNCHER_H

#include "state.h"

typedef struct StateLauncher {
  const char *name;       /* "torchrun"; NULL: no launcher started this process */
  int rank, size;         /* this process, of how many */
  int local;              /* which of those on this machine */
  int local_size;         /* how many these are; 0: unknown */
  const char *local_name; /* the variable that says `local` */
} StateLauncher;

/* CT_EINVAL where its variables contradict each other; the message names them. */
CtStatus state_launcher(const CuttleState *s, StateLauncher *out, CtErr *err) CT_NODISCARD;

#endif
