/* text.h: output text that grows. A failed append is remembered, so that a writer checks once, at
   the end, with ct_text_status. */
#ifndef CT_TEXT_H
#define CT_TEXT_H

#include "arena.h"

typedef struct CtText {
  CtAlloc alloc;
  char *s;    /* NUL-terminated once anything was appended; else NULL */
  size_t len; /* without the NUL */
  size_t cap;
  bool failed; /* some append ran out of memory */
} CtText;

void ct_text_init(CtText *t, CtAlloc alloc);
void ct_text_clear(CtText *t); /* frees; the text can be used again */
void ct_text_add(CtText *t, const char *s, size_t len);
void ct_text_puts(CtText *t, const char *s);
void ct_text_putc(CtText *t, char c);
void ct_text_printf(CtText *t, const char *fmt, ...) CT_PRINTF(2, 3);
void ct_text_agree(CtText *t, size_t from); /* ct_agree of what was added after so many bytes */
CtStatus ct_text_status(const CtText *t, CtErr *err) CT_NODISCARD;
const char *ct_text_str(const CtText *t); /* never NULL */

/* May the character be in a name? */
static inline bool ct_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Makes of a text that may come from anybody one that a terminal only shows: other control characters than tabs
   and ends of lines become '?'. */
void ct_text_disarm(char *s);

#endif
