/* message.c: formats with C's own conversions, one at a time. */
#include "message.h"

#include <stdio.h>

#include "bits.h"

enum { PIECE_BYTES = 512, SPEC_BYTES = 32 };

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* checked when the kernel was traced */

/* One conversion, whose text is `spec`, of a value. */
static void print_one(CtText *out, const char *spec, CtDtype type, uint64_t word) {
  char piece[PIECE_BYTES];
  switch (type) {
    case CT_f64: snprintf(piece, sizeof piece, spec, ct_f64_of_bits(word)); break;
    case CT_bool: snprintf(piece, sizeof piece, spec, word != 0 ? "true" : "false"); break;
    case CT_i32:
    case CT_u32: snprintf(piece, sizeof piece, spec, (int)word); break;
    default: snprintf(piece, sizeof piece, spec, (long long)word); break;
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
      size_t len = strcspn(format, "diuoxXcfFeEgGaAs") + 1;
      snprintf(spec, sizeof spec, "%.*s", (int)len, format);
      print_one(out, spec, (CtDtype)types[arg], words[arg]);
      arg++;
      format += len;
    }
  }
}
