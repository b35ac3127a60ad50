/* err.h: how a core function fails. It returns a CtStatus, takes `CtErr *err` last and leaves its
   outputs untouched. A CtErr is a plain value: reporting needs no allocation, copying is `=`.
   Message form: `<operation>: <what is wrong, with the values as the user writes them>; <what was
   expected>`, lower case, one line, no full stop. */
#ifndef CT_ERR_H
#define CT_ERR_H

#include "base.h"

typedef enum CtStatus {
  CT_OK = 0,
  CT_EINVAL,       /* bad input: a script, a layout text, an argument */
  CT_EOVERFLOW,    /* a 64-bit integer result does not fit */
  CT_ENOMEM,       /* out of memory */
  CT_EIO,          /* a file */
  CT_EUNSUPPORTED, /* understood, but this target or build cannot do it */
  CT_EMISSING,     /* an optional library or device is not on this machine */
  CT_EDEVICE,      /* the CUDA driver or NVRTC reported an error */
  CT_EINTERRUPTED  /* stopped by the user */
} CtStatus;

typedef struct CtErr {
  CtStatus status;
  int line;        /* line of the script to blame; 0 when the failing layer knows none */
  char chunk[116]; /* name of that script as shown to the user; "" when line is 0 */
  char msg[1024];
} CtErr;

/* Fills *err (which may be NULL) and returns `status`, so that `return ct_fail(...)` reads well.
   The location is cleared; ct_err_at sets it. A message that does not fit is cut. */
CtStatus ct_fail(CtErr *err, CtStatus status, const char *fmt, ...) CT_PRINTF(3, 4);

/* Out of memory, in the one wording. */
CtStatus ct_fail_nomem(CtErr *err);

/* Names the script line to blame. Keeps an earlier location: the innermost one is the best. */
void ct_err_at(CtErr *err, const char *chunk, int line);

/* Puts "<text>: " before the message, e.g. "in mode 1". */
void ct_err_prefix(CtErr *err, const char *fmt, ...) CT_PRINTF(2, 3);

#ifdef __clang_analyzer__ /* what is promised above, for an analyzer that sees one file at a time */
#define ct_fail(err, status, ...) ((void)ct_fail((err), (status), __VA_ARGS__), (status))
#define ct_fail_nomem(err) ((void)ct_fail_nomem(err), CT_ENOMEM)
#endif

#endif
