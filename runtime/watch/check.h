/* check.h: a watcher (simt_watch.h) that looks for faults which a launch may survive: accesses
   out of bounds, reads of what was never written, races, missing waits. A finding stops nothing,
   except a block that cannot go on. check_state.h says which accesses count as ordered and what
   is not reported. */
#ifndef CT_WATCH_CHECK_H
#define CT_WATCH_CHECK_H

#include "runtime/base/blank.h"
#include "runtime/simt/simt.h"

typedef struct CtCheck CtCheck;

typedef enum CtCheckKind {
#define X(NAME, ...) CT_CHECK_##NAME,
#include "check.def"
  CT_CHECK_COUNT
} CtCheckKind;

/* A kind as reports name it; see check.def. */
typedef struct CtCheckRow {
  const char *name, *id, *title, *rule, *remedy;
} CtCheckRow;

extern const CtCheckRow ct_check_rows[CT_CHECK_COUNT];
extern const char *const ct_check_names[CT_CHECK_COUNT], *const ct_check_ids[CT_CHECK_COUNT];

/* What was found at a line, or between two lines: how often, with the lowest block and thread as
   the example. The texts belong to the CtCheck. */
typedef struct CtFinding {
  CtCheckKind kind;
  const char *kernel;
  const char *chunk, *other_chunk; /* other_*: NULL and 0 if one line is to blame */
  int line, other_line;
  const char *buffer; /* NULL: none */
  uint64_t count;
  int64_t block[3], thread[3];
  int rank; /* that launched it; -1: no rank did */
  const char *text;
  const char
      *schedule;      /* the order in which it was found, for --schedule; NULL: the launch's own */
  const char *events; /* what happened in it: see ct_orders_put_events */
} CtFinding;

/* Where a choice was not the usual one: a line of a schedule (orders.h). */
typedef struct CtOrderChoice {
  uint32_t step, thread;
  uint32_t
      late; /* 1 + the thread of a copy that would have completed then; 0: none. A replay does not need it */
} CtOrderChoice;

/* One order of a launch: explore.h. */
typedef struct CtCheckSchedule {
  uint64_t launch; /* its number, from 1 */
  int policy;      /* CtOrderPolicy */
  uint64_t seed;
  const CtOrderChoice *choices;
  size_t n;
} CtCheckSchedule;

typedef struct CtCheckOptions {
  bool nan;         /* also report NaN from other numbers, and infinities from finite ones */
  bool overflow;    /* also report signed integers that wrap around */
  bool no_global;   /* do not report races in global memory; still report accesses outside it */
  bool is_single;   /* no other launch follows: keep nothing for it */
  bool is_again;    /* a launch runs again: what was written is put back afterwards */
  CtBlanks *blanks; /* memory without contents that launches may use; NULL: none */
} CtCheckOptions;

CtStatus ct_check_open(CtAlloc alloc, const CtCheckOptions *options, CtCheck **out,
                       CtErr *err) CT_NODISCARD;
void ct_check_close(CtCheck *c); /* NULL is fine */
bool ct_check_finds_overflow(const CtCheck *c);
/* For CtSimtLaunch.watch; it may watch one launch after another, but not two at a time. */
CtSimtWatch *ct_check_watch(CtCheck *c);
/* Before launches of ranks run at once, n of them: each gets a watcher of its own. Afterwards, and before anything
   else, _join_end puts together what they found. */
CtStatus ct_check_join(CtCheck *c, size_t n, CtErr *err) CT_NODISCARD;
CtSimtWatch *ct_check_part(CtCheck *c, size_t i);
void ct_check_join_end(CtCheck *c);
/* The host made new memory here: what earlier launches did at this place no longer counts. */
void ct_check_forget(CtCheck *c, const void *begin, size_t bytes);
/* There are several streams, and the memory was filled in stream 0, as its launch `number`; n_waits: as
   in CtSimtLaunch. */
void ct_check_filled(CtCheck *c, const void *begin, size_t bytes, uint32_t number,
                     uint64_t n_waits);
/* The findings of all launches so far, launch by launch, and within a launch by line. */
size_t ct_check_count(const CtCheck *c);
const CtFinding *ct_check_finding(const CtCheck *c, size_t i);
uint64_t ct_check_launches(const CtCheck *c);
bool ct_check_is_partial(
    const CtCheck *c); /* memory or a limit ran out: some faults may be missing */

#endif
