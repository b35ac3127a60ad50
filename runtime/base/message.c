/* message.c: formats with C's own conversions, one at a time. */
#include "message.h"

#include <stdio.h>

#include "bits.h"

enum { PIECE_BYTES = 512, SPEC_BYTES = 32, MOST_FLAGS = 5, MOST_DIGITS = 2 };

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* ct_message_fault sees it first */

/* --- formats ------------------------------------------------------------------------------------- */

typedef struct Conversion {
  size_t len; /* with the percent sign; 0: there is none */
  bool is_wide;
  char letter;
} Conversion;

/* The conversion that begins at a percent sign. */
static Conversion read_conversion(const char *s) {
  size_t flags = strspn(s + 1, "-+ #0"), at = 1 + flags;
  size_t width = strspn(s + at, "0123456789"), precision = 0;
  at += width;
  if (s[at] == '.') {
    precision = strspn(s + at + 1, "0123456789");
    at += 1 + precision;
  }
  bool is_wide = strncmp(s + at, "ll", 2) == 0;
  at += is_wide ? 2 : 0;
  bool is = flags <= MOST_FLAGS && width <= MOST_DIGITS && precision <= MOST_DIGITS &&
            s[at] != '\0' && strchr("diuoxXcfFeEgGaAs", s[at]) != NULL;
  return (Conversion){is ? at + 1 : 0, is_wide, s[at]};
}

static bool takes(const Conversion *c, CtDtype type) {
  switch (c->letter) {
    case 's': return type == CT_bool && !c->is_wide;
    case 'c': return type == CT_i32 && !c->is_wide;
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return c->is_wide ? type == CT_i64 || type == CT_u64 : type == CT_i32 || type == CT_u32;
    default: return type == CT_f64 && !c->is_wide;
  }
}

/* Past plain text and "%%": at a conversion or at the end. */
static char *to_conversion(const char *s) {
  while (*s != '\0' && (*s != '%' || s[1] == '%')) {
    s += *s == '%' ? 2 : 1;
  }
  return (char *)(uintptr_t)s;
}

const char *ct_message_fault(const char *format, int n, const uint8_t *types) {
  int arg = 0;
  if (n > CT_MESSAGE_ARGS) {
    return "a format with too many values";
  }
  for (const char *s = to_conversion(format); *s != '\0'; s = to_conversion(s), arg++) {
    const Conversion c = read_conversion(s);
    if (c.len == 0) {
      return "a format with a conversion that printf of kernels does not have";
    }
    if (arg >= n) {
      return "a format that asks for more values than there are";
    }
    if (!takes(&c, (CtDtype)types[arg])) {
      return "a format with a value of another type than its conversion accepts";
    }
    s += c.len;
  }
  return arg == n ? NULL : "a format that asks for fewer values than there are";
}

void ct_message_disarm(char *format) {
  for (char *s = to_conversion(format); *s != '\0'; s = to_conversion(s)) {
    const Conversion c = read_conversion(s);
    if (c.len == 0) {
      return;
    }
    if (c.letter == 'c') {
      s[c.len - 1] = 'd';
    }
    s += c.len;
  }
}

/* --- texts --------------------------------------------------------------------------------------- */

/* One conversion, whose text is `spec`, of a value. */
static void print_one(CtText *out, const char *spec, CtDtype type, uint64_t word) {
  char piece[PIECE_BYTES];
  if (type == CT_f64) {
    snprintf(piece, sizeof piece, spec, ct_f64_of_bits(word));
  } else if (type == CT_bool) {
    snprintf(piece, sizeof piece, spec, word != 0 ? "true" : "false");
  } else if (ct_dtypes[type].bits == 32) {
    snprintf(piece, sizeof piece, spec, (int)word);
  } else {
    snprintf(piece, sizeof piece, spec, (long long)word);
  }
  ct_text_puts(out, piece);
}

void ct_message_format(CtText *out, const char *format, const uint8_t *types,
                       const uint64_t *words) {
  int arg = 0;
  while (*format != '\0') {
    size_t plain = strcspn(format, "%");
    ct_text_add(out, format, plain);
    format += plain;
    if (format[0] == '%' && format[1] == '%') {
      ct_text_putc(out, '%');
      format += 2;
    } else if (format[0] == '%') {
      char spec[SPEC_BYTES];
      size_t len = read_conversion(format).len;
      snprintf(spec, sizeof spec, "%.*s", (int)len, format);
      print_one(out, spec, (CtDtype)types[arg], words[arg]);
      arg++;
      format += len;
    }
  }
}
