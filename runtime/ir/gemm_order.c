/* gemm_order.c: orders of multiply-adds from texts. */
#include "gemm_order.h"

#include <ctype.h>
#include <string.h>

static const struct {
  const char *name, *text;
} names[] = {
    {"columns", "n m"},
    {"rows", "m n"},
    {"serpentine", "m ~n"},
    {"column_pairs", "n2 ~m ~n"},
};

static const char *skip_space(const char *s) {
  while (*s == ' ') {
    s++;
  }
  return s;
}

/* One loop: an optional ~, the mode, an optional step. NULL if the text is not a loop. */
static const char *parse_loop(const char *s, CtGemmLoop *out) {
  int step = 0;
  *out = (CtGemmLoop){.turns = *s == '~'};
  s += out->turns;
  if (*s != 'm' && *s != 'n') {
    return NULL;
  }
  out->mode = *s++ == 'n';
  for (; isdigit((unsigned char)*s) && step <= CT_GEMM_MAX_STEP; s++) {
    step = step * 10 + (*s - '0');
    if (step == 0) {
      return NULL;
    }
  }
  out->step = (uint8_t)(step == 0 ? 1 : step);
  return step <= CT_GEMM_MAX_STEP && (*s == ' ' || *s == '\0') ? skip_space(s) : NULL;
}

/* The steps of each mode: each divides the one before and is less, the last is 1. There is a loop for the first one
   to turn in. */
bool ct_gemm_order_is(const CtGemmOrder *order) {
  int last[2] = {0, 0};
  if (order->n < 1 || order->n > CT_GEMM_MAX_LOOPS || order->loop[0].turns) {
    return false;
  }
  for (int i = 0; i < order->n; i++) {
    int step = order->loop[i].step, *before = &last[order->loop[i].mode];
    if (step < 1 || (*before != 0 && (step >= *before || *before % step != 0))) {
      return false;
    }
    *before = step;
  }
  return last[0] == 1 && last[1] == 1;
}

CtStatus ct_gemm_order_parse(const char *text, CtGemmOrder *out, CtErr *err) {
  const char *s = text;
  for (size_t i = 0; i < CT_ARRAY_LEN(names); i++) {
    s = strcmp(text, names[i].name) == 0 ? names[i].text : s;
  }
  *out = (CtGemmOrder){0};
  s = skip_space(s);
  while (s != NULL && *s != '\0' && out->n < CT_GEMM_MAX_LOOPS) {
    s = parse_loop(s, &out->loop[out->n++]);
  }
  if (s != NULL && *s == '\0' && ct_gemm_order_is(out)) {
    return CT_OK;
  }
  return ct_fail(
      err, CT_EINVAL,
      "order '%s'; expected columns, rows, serpentine, column_pairs or at most %d loops over m "
      "and n, the outermost first, such as \"n2 ~m ~n\": a step after the letter, the last "
      "step 1, and ~ before a loop that is reversed every second time",
      text, CT_GEMM_MAX_LOOPS);
}
