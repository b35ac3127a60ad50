/* mode_name.c: names of modes as text and as numbers. */
#include "mode_name.h"

#include <string.h>

/* A character's code is its place here; 0 ends a name. */
static const char alphabet[] = "\0abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@";
enum { CODES = sizeof alphabet - 1, TWO_CODES = CODES * CODES };
_Static_assert((uint64_t)TWO_CODES *TWO_CODES *TWO_CODES *TWO_CODES <= UINT64_MAX / TWO_CODES,
               "a name fits");
_Static_assert(CT_MODE_NAME_MAX == 10, "of as many characters");

static uint64_t code_of(char c) { /* 0 if no name contains it */
  const char *p = c == '\0' ? NULL : memchr(alphabet + 1, c, CODES - 1);
  return p == NULL ? 0 : (uint64_t)(p - alphabet);
}

bool ct_is_name_char(char c) { return code_of(c) != 0; }

/* Each @ stands between a name and the name of an axis. */
static bool has_stray_at(const char *s, size_t len) {
  for (size_t i = 0; i < len; i++) {
    if (s[i] == '@' && (i == 0 || i + 1 == len || s[i + 1] == '@')) {
      return true;
    }
  }
  return false;
}

const char *ct_mode_name_fault(const char *s, size_t len) {
  if (len == 0) {
    return "is empty";
  }
  for (size_t i = 0; i < len; i++) {
    if (!ct_is_name_char(s[i])) {
      return "has a character that is not a letter, digit or _";
    }
  }
  if (len > CT_MODE_NAME_MAX) {
    return "is longer than 10 characters";
  }
  if (s[0] >= '0' && s[0] <= '9') {
    return "begins with a digit";
  }
  if (has_stray_at(s, len)) {
    return "has an @ that is not between two names";
  }
  return len == 1 && s[0] == '_' ? "is the wildcard" : NULL;
}

/* Messages show at most this many bytes of a wrong name; bytes that would break a line appear as
   '?'. */
enum { SHOWN_BYTES = 40 };

static CtStatus fail_name(const char *s, size_t len, const char *fault, CtErr *err) {
  char shown[SHOWN_BYTES + 1] = {0};
  for (size_t i = 0; i < len && i < SHOWN_BYTES; i++) {
    shown[i] = s[i];
    if (s[i] < ' ' || s[i] > '~') {
      shown[i] = '?';
    }
  }
  return ct_fail(err, CT_EINVAL,
                 "mode name: '%s%s' %s; expected 1 to 10 letters, digits or _, the first no digit",
                 shown, len > SHOWN_BYTES ? "..." : "", fault);
}

CtStatus ct_mode_name_pack(const char *s, size_t len, CtModeName *out, CtErr *err) {
  const char *fault = ct_mode_name_fault(s, len);
  if (fault != NULL) {
    return fail_name(s, len, fault, err);
  }
  CtModeName name = 0;
  for (size_t i = len; i-- > 0;) {
    name = name * CODES + code_of(s[i]);
  }
  *out = name;
  return CT_OK;
}

const char *ct_mode_name_unpack(CtModeName name, char out[CT_MODE_NAME_MAX + 1]) {
  int n = 0;
  for (; name != 0 && n < CT_MODE_NAME_MAX; name /= CODES) {
    out[n++] = alphabet[name % CODES];
  }
  out[n] = '\0';
  return out;
}

void ct_mode_name_print(CtModeName name, CtText *out) {
  char text[CT_MODE_NAME_MAX + 1];
  ct_text_puts(out, ct_mode_name_unpack(name, text));
}
