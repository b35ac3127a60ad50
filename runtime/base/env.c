/* env.c: environment variables, or none. */
#include "env.h"

#include <stdlib.h>

static _Thread_local bool is_ignored;

const char *ct_env(const char *name) { return is_ignored ? NULL : getenv(name); }

bool ct_env_ignore(bool ignore) {
  bool before = is_ignored;
  is_ignored = ignore;
  return before;
}
