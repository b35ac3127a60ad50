/* emit_float.c: floats as C, and the casts of emit_prelude.def that follow from the row of a type. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/convert.h"
#include "emit.h"

static void put_special(CtText *out, CtDtype type, double v) {
  uint64_t bits = ct_bits_of_float(type, v);
  if (type == CT_f64) {
    ct_text_printf(out, "__longlong_as_double(0x%016" PRIx64 "LL)", bits);
  } else {
    ct_text_printf(out, "__int_as_float(0x%08" PRIx64 ")", bits);
  }
}

/* The fewest digits that give the same number again, in any locale. */
static void shortest(CtDtype type, double v, char *text, size_t size) {
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, v);
    if (type == CT_f64 ? strtod(text, NULL) == v : strtof(text, NULL) == (float)v) {
      break;
    }
  }
  for (char *s = text; *s != '\0'; s++) {
    if (strchr("0123456789+-e", *s) == NULL) {
      *s = '.';
    }
  }
}

void ct_emit_float(CtText *out, CtDtype type, double v) {
  char text[40];
  if (ct_is_bits(type)) {
    ct_text_printf(out, "0x%0*" PRIx64, ct_dtypes[type].bits / 4, ct_bits_of_float(type, v));
    return;
  }
  if (!isfinite(v)) {
    put_special(out, type, v);
    return;
  }
  shortest(type, v, text, sizeof text);
  if (strchr(text, 'e') != NULL && fabs(v) >= 1 && fabs(v) < 1e9) {
    snprintf(text, sizeof text, "%.0f", v); /* 100, not 1e+02 */
  }
  ct_text_puts(out, text);
  if (strpbrk(text, ".e") == NULL) {
    ct_text_puts(out, ".0");
  }
  ct_text_puts(out, type == CT_f64 ? "" : "f");
}

/* {====== Casts of small floats ====== */

enum { FRACTION = 23, BIAS = 127 }; /* of f32 */

/* "f32_to_f6e2m3", "f6e2m3_to_f32": f6e2m3. */
static CtDtype type_of_cast(const char *fn) {
  char from[16];
  const char *to = strstr(fn, "_to_") + strlen("_to_");
  snprintf(from, sizeof from, "%.*s", (int)strcspn(fn, "_"), fn);
  return ct_dtype_from_name(strcmp(to, "f32") == 0 ? from : to);
}

/* The f32 from which on numbers become the largest one: half a step above it. */
static uint32_t bits_over(const CtFormat *f) {
  uint32_t max = (uint32_t)f->max, exponent = (max >> f->fraction) + (uint32_t)(BIAS - f->bias);
  uint32_t fraction = max & (uint32_t)CT_ONES(f->fraction);
  return exponent << FRACTION | (2 * fraction + 1) << (FRACTION - 1 - f->fraction);
}

static void put_word(CtText *out, CtDtype t, const char *word) {
  const CtFormat *f = ct_dtype_format(t);
  int n_bits = ct_dtypes[t].exponent + f->fraction; /* without the sign */
  uint32_t rest = (uint32_t)CT_ONES(n_bits);
  const struct {
    const char *name;
    uint32_t value;
    const char *suffix;
  } hexes[] = {{"bias", (uint32_t)(BIAS - f->bias) << FRACTION, "u"},
               {"half", (uint32_t)CT_ONES(FRACTION - 1 - f->fraction), "u"},
               {"largest", (uint32_t)f->max, "u"},
               {"last", f->has_sign ? rest + 1 : 0, "u"},
               {"nan", rest, ""},
               {"normal", (uint32_t)(BIAS + 1 - f->bias) << FRACTION, "u"},
               {"over", bits_over(f), "u"},
               {"rest", rest, "u"}};
  for (size_t i = 0; i < CT_ARRAY_LEN(hexes); i++) {
    if (strcmp(hexes[i].name, word) == 0) {
      ct_text_printf(out, "0x%" PRIx32 "%s", hexes[i].value, hexes[i].suffix);
      return;
    }
  }
  if (strcmp(word, "up") == 0 ||
      strcmp(word, "down") == 0) { /* between the smallest numbers of both */
    ct_emit_float(out, CT_f64, ldexp(1, *word == 'u' ? f->bias - 1 + f->fraction : BIAS - f->bias));
    ct_text_putc(out, 'f');
  } else {
    ct_text_printf(out, "%d", strcmp(word, "shift") == 0 ? FRACTION - f->fraction : 31 - n_bits);
  }
}

void ct_emit_put_cast(CtText *out, const char *fn, const char *text) {
  CtDtype t = type_of_cast(fn);
  for (const char *s = text; *s != '\0'; s++) {
    char word[16];
    size_t n = *s == '$' ? strspn(s + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
    if (n == 0) {
      ct_text_putc(out, *s);
      continue;
    }
    snprintf(word, sizeof word, "%.*s", (int)n, s + 1);
    put_word(out, t, word);
    s += n;
  }
}
