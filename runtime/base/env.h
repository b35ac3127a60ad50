/* env.h: the process's environment, as far as the calling thread may look at it. All that the core reads
   of it comes through here, so that a host can keep it out of what one of its states does. */
#ifndef CT_ENV_H
#define CT_ENV_H

#include "base.h"
#include "err.h"

/* The variable's value; NULL: it is not set, or the thread ignores the environment. */
const char *ct_env(const char *name);

/* The number that the variable's value `text` says, of `low` to `high`, which bounds name integers below 2^53.
   NULL and "" leave *out as it is. CT_EINVAL: it says no number, one out of bounds, or with `is_whole` no
   integer. */
CtStatus ct_env_number(const char *name, const char *text, int64_t low, int64_t high, bool is_whole,
                       double *out, CtErr *err) CT_NODISCARD;

/* Whether the variable's value `text` is 1. NULL and "" leave *out as it is. CT_EINVAL: it is neither 0 nor 1. */
CtStatus ct_env_flag(const char *name, const char *text, bool *out, CtErr *err) CT_NODISCARD;

/* From now on the calling thread ignores the environment, or not; what it did before. */
bool ct_env_ignore(bool ignore);

#endif
