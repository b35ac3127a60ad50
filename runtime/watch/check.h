/* check.h: `check`: a watcher (simt_watch.h) that looks for what a launch does wrong although it
   may run to its end: accesses out of bounds, reads of what was never written, races, waits that are
   missing. Nothing is stopped by a finding, except a block that cannot go on.

   What counts as ordered, and what is left alone, stands in check_state.h. */
#ifndef CT_WATCH_CHECK_H
#define CT_WATCH_CHECK_H

#include "runtime/simt/simt.h"

typedef struct CtCheck CtCheck;

typedef enum CtCheckKind {
#define X(NAME, name) CT_CHECK_##NAME,
#include "check.def"
  CT_CHECK_COUNT
} CtCheckKind;

extern const char *const ct_check_names[CT_CHECK_COUNT];

/* What was found at a line, or between two lines: how often, and the example of the lowest block and
   thread. Texts belong to the CtCheck. */
typedef struct CtFinding {
  CtCheckKind kind;
  const char *kernel;
  const char *chunk, *other_chunk; /* other_*: NULL and 0 where one line is to blame */
  int line, other_line;
  const char *buffer; /* NULL: none */
  uint64_t count;
  int64_t block[3], thread[3];
  const char *text;
} CtFinding;

typedef struct CtCheckOptions {
  bool nan; /* also look for NaN that comes of no NaN, and infinities that come of finite numbers */
  bool no_global; /* leave out races in global memory; accesses outside it are still looked for */
  bool is_single; /* no other launch follows: nothing is kept for it */
} CtCheckOptions;

CtStatus ct_check_open(CtAlloc alloc, const CtCheckOptions *options, CtCheck **out,
                       CtErr *err) CT_NODISCARD;
void ct_check_close(CtCheck *c); /* NULL is fine */
/* For CtSimtLaunch.watch, of one launch after the other. */
CtSimtWatch *ct_check_watch(CtCheck *c);
/* The host made new memory here: what launches did to it does not count any more. */
void ct_check_forget(CtCheck *c, const void *begin, size_t bytes);
/* Of all launches so far, in their order, of one launch by line. */
size_t ct_check_count(const CtCheck *c);
const CtFinding *ct_check_finding(const CtCheck *c, size_t i);
uint64_t ct_check_launches(const CtCheck *c);
bool ct_check_is_partial(
    const CtCheck *c); /* memory or a limit ran out: something may not have been found */

#endif
