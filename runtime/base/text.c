/* text.c: growable text. */
#include "text.h"
#include "plural.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ct_text_init(CtText *t, CtAlloc alloc) { *t = (CtText){.alloc = alloc}; }

void ct_text_clear(CtText *t) {
  ct_free(t->alloc, t->s, t->cap);
  ct_text_init(t, t->alloc);
}

/* Makes room for `more` bytes and a NUL. */
static bool reserve(CtText *t, size_t more) {
  if (t->failed || more > SIZE_MAX - t->len - 1 ||
      ct_grow(t->alloc, &t->s, &t->cap, t->len + more + 1, 1, NULL) != CT_OK) {
    t->failed = true;
    return false;
  }
  return true;
}

void ct_text_add(CtText *t, const char *s, size_t len) {
  if (reserve(t, len)) {
    memcpy(t->s + t->len, s, len);
    t->len += len;
    t->s[t->len] = '\0';
  }
}

void ct_text_puts(CtText *t, const char *s) { ct_text_add(t, s, strlen(s)); }

void ct_text_putc(CtText *t, char c) { ct_text_add(t, &c, 1); }

/* Written where there is room already; only a text that does not fit is made twice. */
void ct_text_printf(CtText *t, const char *fmt, ...) {
  va_list args, again;
  size_t room = t->failed || t->s == NULL ? 0 : t->cap - t->len;
  va_start(args, fmt);
  va_copy(again, args);
  int n = vsnprintf(room > 0 ? t->s + t->len : NULL, room, fmt, args);
  bool fits = n >= 0 && (size_t)n < room;
  if (!fits && n >= 0 && reserve(t, (size_t)n)) {
    vsnprintf(t->s + t->len, (size_t)n + 1, fmt, again);
    fits = true;
  }
  if (fits) {
    t->len += (size_t)n;
  } else if (room > 0) {
    t->s[t->len] = '\0';
  }
  va_end(again);
  va_end(args);
}

CtStatus ct_text_status(const CtText *t, CtErr *err) {
  return t->failed ? ct_fail_nomem(err) : CT_OK;
}

const char *ct_text_str(const CtText *t) { return t->s == NULL ? "" : t->s; }

void ct_text_agree(CtText *t, size_t from) {
  if (!t->failed && t->len > from) {
    ct_agree(t->s + from);
    t->len = from + strlen(t->s + from);
  }
}

void ct_text_disarm(char *s) {
  for (; *s != '\0'; s++) {
    unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];
    bool is_wide = c == 0xC2 && next >= 0x80 && next < 0xA0; /* U+0080 to U+009F */
    if ((c < ' ' && c != '\t' && c != '\n') || c == 0x7F || is_wide) {
      *s = '?';
    }
    if (is_wide) {
      *++s = '?';
    }
  }
}
