/* profile_rows.h: what `profile` counts in a program. It has a row for each instruction of the
   body that it watches, and a site for each operand of such an instruction in global or shared
   memory. For profile.c. */
#ifndef CT_WATCH_PROFILE_ROWS_H
#define CT_WATCH_PROFILE_ROWS_H

#include "profile_site.h"

enum { CT_PROFILE_NO_ROW = -1 };

typedef struct CtProfileRows {
  CtProfileProgram pub;
  CtArena arena;
  CtProfileAt *ats; /* by site */
  int32_t *row_of;  /* by instruction of the body; or CT_PROFILE_NO_ROW */
  uint32_t *first;  /* by row: its sites are first[row] .. first[row + 1] - 1 */
  uint64_t *each;   /* by row: arithmetic of one thread */
} CtProfileRows;

bool ct_profile_wants(const CtIn *code);

CtStatus ct_profile_rows_new(CtAlloc alloc, const CtSimtProgram *p, uint64_t tag,
                             CtProfileRows **out, CtErr *err) CT_NODISCARD;
void ct_profile_rows_free(CtAlloc alloc, CtProfileRows *pr);

#endif
