/* blank.h: memory that was allocated without contents, and which of its elements were written since. `check`
   keeps it, for memory of the host; what is not known to be blank counts as written. */
#ifndef CT_BLANK_H
#define CT_BLANK_H

#include <stdatomic.h>

#include "arena.h"

/* Of an element. Whoever adds to what nobody wrote reads it, and leaves no contents for others to add to. */
typedef enum CtBlankState { CT_BLANK_UNSET, CT_BLANK_ADDED_TO, CT_BLANK_WRITTEN } CtBlankState;

typedef struct CtBlank {
  struct CtBlanks *list; /* NULL: all of it counts as written */
  struct CtBlank *prev, *next;
  const char *begin, *end;
  size_t element, n; /* bytes of an element; how many there are */
  _Atomic uint8_t state[];
} CtBlank;

typedef struct CtBlanks {
  CtBlank *first;
} CtBlanks;

/* Puts the memory into the list: nobody has written it. NULL: no memory, so it counts as written. */
CtBlank *ct_blank_new(CtAlloc alloc, CtBlanks *list, const void *begin, size_t bytes,
                      size_t element);
void ct_blank_free(CtAlloc alloc, CtBlank *b); /* NULL is fine */
/* NULL is fine. From now on all of it counts as written. */
void ct_blank_settle(CtBlank *b);
void ct_blank_settle_all(CtBlanks *list);
/* Elements of which a byte is in a range that starts `at` bytes from the beginning are written. NULL is fine. */
void ct_blank_write(CtBlank *b, size_t at, size_t bytes);
/* Those of them that were unset are added to. */
void ct_blank_add_to(CtBlank *b, size_t at, size_t bytes);
/* The least state of the elements of which a byte is in the range. */
CtBlankState ct_blank_state(const CtBlank *b, size_t at, size_t bytes);

/* What was written of the memory in a list, for launches that run again. The memory must not be freed meanwhile. */
typedef struct CtBlanksKept {
  CtBlank **blanks;
  uint8_t **states;
  size_t n, cap;
} CtBlanksKept;
CtStatus ct_blanks_keep(CtAlloc alloc, const CtBlanks *list, CtBlanksKept *out,
                        CtErr *err) CT_NODISCARD;
void ct_blanks_put_back(const CtBlanksKept *kept);
void ct_blanks_drop(CtAlloc alloc, CtBlanksKept *kept);

#endif
