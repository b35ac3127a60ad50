/* env.c: environment variables, or none. */
#include "env.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool is_ignored;

const char *ct_env(const char *name) { return is_ignored ? NULL : getenv(name); }

CtStatus ct_env_number(const char *name, const char *text, int64_t low, int64_t high, bool is_whole,
                       double *out, CtErr *err) {
  char *end = NULL;
  if (text == NULL || text[0] == '\0') {
    return CT_OK;
  }
  double v = strtod(text, &end);
  bool is_plain = strspn(text, "+-0123456789.eE") == strlen(text) && *end == '\0' && end != text;
  if (!is_plain || !(v >= (double)low && v <= (double)high) || (is_whole && v != floor(v))) {
    return ct_fail(err, CT_EINVAL, "%s is '%.40s'; %s from %" PRId64 " to %" PRId64 " was expected",
                   name, text, is_whole ? "an integer" : "a number", low, high);
  }
  *out = v;
  return CT_OK;
}

CtStatus ct_env_flag(const char *name, const char *text, bool *out, CtErr *err) {
  if (text == NULL || text[0] == '\0') {
    return CT_OK;
  }
  *out = text[0] == '1';
  return (text[0] == '0' || text[0] == '1') && text[1] == '\0'
             ? CT_OK
             : ct_fail(err, CT_EINVAL, "%s is '%.40s'; 0 or 1 was expected", name, text);
}

bool ct_env_ignore(bool ignore) {
  bool before = is_ignored;
  is_ignored = ignore;
  return before;
}
