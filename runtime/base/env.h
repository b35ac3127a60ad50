/* env.h: the process's environment, as far as the calling thread may look at it. All that the core reads
   of it comes through here, so that a host can keep it out of what one of its states does. */
#ifndef CT_ENV_H
#define CT_ENV_H

#include "base.h"

/* The variable's value; NULL: it is not set, or the thread ignores the environment. */
const char *ct_env(const char *name);

/* From now on the calling thread ignores the environment, or not; what it did before. */
bool ct_env_ignore(bool ignore);

#endif
