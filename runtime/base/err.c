/* err.c: the error record. */
#include "err.h"

#include "plural.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* In parentheses, because an analyzer sees a macro of the same name. */
CtStatus(ct_fail)(CtErr *err, CtStatus status, const char *fmt, ...) {
  if (err != NULL) {
    va_list args;
    err->status = status;
    err->line = 0;
    err->chunk[0] = '\0';
    va_start(args, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    ct_agree(err->msg);
  }
  return status;
}

CtStatus(ct_fail_nomem)(CtErr *err) { return ct_fail(err, CT_ENOMEM, "not enough memory"); }

void ct_err_at(CtErr *err, const char *chunk, int line) {
  if (err != NULL && err->line == 0) {
    err->line = line;
    snprintf(err->chunk, sizeof err->chunk, "%s", chunk);
  }
}

void ct_err_prefix(CtErr *err, const char *fmt, ...) {
  if (err == NULL) {
    return;
  }
  char old[sizeof err->msg];
  va_list args;
  memcpy(old, err->msg, sizeof old);
  va_start(args, fmt);
  int n = vsnprintf(err->msg, sizeof err->msg, fmt, args);
  va_end(args);
  if (n >= 0 && (size_t)n + 3 <= sizeof err->msg) {
    size_t len = strlen(old);
    size_t room = sizeof err->msg - (size_t)n - 3; /* a long message is cut */
    char *at = err->msg + n;
    memcpy(at, ": ", 2);
    at += 2;
    len = len < room ? len : room;
    memcpy(at, old, len);
    at[len] = '\0';
  }
}
