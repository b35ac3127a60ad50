/* launcher.c: launchers, by their environment variables. */
#include "launcher.h"

#include <limits.h>

#include "runtime/base/env.h"

typedef struct Launcher {
  const char *name;
  const char *rank, *size, *local, *local_size; /* local_size may be NULL */
  const char *mark; /* without it the others say nothing; NULL: rank or size do */
} Launcher;

/* The innermost first: torchrun may run under srun, as mpirun may. Slurm sets its variables in batch
   scripts, too, where no step has begun; and PMI_RANK, without the local number, in steps with --mpi=pmi2. */
static const Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_ID"},
};

static const char *value_of(const CuttleState *s, const char *name) {
  const char *text = name == NULL ? NULL : state_env(s, name);
  return text == NULL || text[0] == '\0' ? NULL : text;
}

static bool is_there(const CuttleState *s, const Launcher *l) {
  return l->mark != NULL ? value_of(s, l->mark) != NULL
                         : value_of(s, l->rank) != NULL || value_of(s, l->size) != NULL;
}

static CtStatus read_number(const CuttleState *s, const Launcher *l, const char *name, int *out,
                            CtErr *err) {
  const char *text = value_of(s, name);
  if (text == NULL) {
    return ct_fail(err, CT_EINVAL,
                   "launcher: %s is not set, though other variables of %s are; "
                   "set %s, %s and %s, or none of them",
                   name, l->name, l->rank, l->size, l->local);
  }
  double v = -1;
  CtStatus status = ct_env_number(name, text, 0, INT_MAX, true, &v, err);
  *out = (int)v;
  return status;
}

/* a < b, which variables say. */
static CtStatus check_below(const char *a_name, int a, const char *b_name, int b, CtErr *err) {
  return a < b ? CT_OK
               : ct_fail(err, CT_EINVAL, "launcher: %s is %d and %s is %d; ranks go from 0 to %d",
                         a_name, a, b_name, b, b - 1);
}

static CtStatus check_local(const Launcher *l, const StateLauncher *out, CtErr *err) {
  if (out->local_size > out->size) {
    return ct_fail(err, CT_EINVAL,
                   "launcher: %s is %d and %s is %d; a machine has no more "
                   "processes than there are",
                   l->local_size, out->local_size, l->size, out->size);
  }
  return out->local_size > 0
             ? check_below(l->local, out->local, l->local_size, out->local_size, err)
             : check_below(l->local, out->local, l->size, out->size, err);
}

static CtStatus read_launcher(const CuttleState *s, const Launcher *l, StateLauncher *out,
                              CtErr *err) {
  *out = (StateLauncher){.name = l->name, .local_name = l->local};
  CtStatus st = read_number(s, l, l->rank, &out->rank, err);
  st = st == CT_OK ? read_number(s, l, l->size, &out->size, err) : st;
  st = st == CT_OK ? read_number(s, l, l->local, &out->local, err) : st;
  st = st == CT_OK && value_of(s, l->local_size) != NULL
           ? read_number(s, l, l->local_size, &out->local_size, err)
           : st;
  st = st == CT_OK ? check_below(l->rank, out->rank, l->size, out->size, err) : st;
  return st == CT_OK ? check_local(l, out, err) : st;
}

CtStatus state_launcher(const CuttleState *s, StateLauncher *out, CtErr *err) {
  *out = (StateLauncher){.size = 1};
  for (size_t i = 0; i < CT_ARRAY_LEN(launchers); i++) {
    if (is_there(s, &launchers[i])) {
      return read_launcher(s, &launchers[i], out, err);
    }
  }
  return CT_OK;
}
