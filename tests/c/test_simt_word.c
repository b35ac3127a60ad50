/* test_simt_word.c: pairs of 16-bit floats: what the engine computes against exact integers, for every
   half beside many others, and for random multiply-adds whose terms are of one size. */
#include "ref_word.h"
#include "runtime/simt/run/simt_word.h"
#include "tap.h"

typedef uint32_t Two(uint32_t a, uint32_t b);
typedef uint32_t Three(uint32_t a, uint32_t b, uint32_t c);

static const struct {
  CtOp op;
  Two *two;
  Three *three;
} functions[] = {
    {CT_OP_ADD_F16X2, ADD_F16X2_u32, NULL}, {CT_OP_ADD_BF16X2, ADD_BF16X2_u32, NULL},
    {CT_OP_SUB_F16X2, SUB_F16X2_u32, NULL}, {CT_OP_SUB_BF16X2, SUB_BF16X2_u32, NULL},
    {CT_OP_MUL_F16X2, MUL_F16X2_u32, NULL}, {CT_OP_MUL_BF16X2, MUL_BF16X2_u32, NULL},
    {CT_OP_MIN_F16X2, MIN_F16X2_u32, NULL}, {CT_OP_MIN_BF16X2, MIN_BF16X2_u32, NULL},
    {CT_OP_MAX_F16X2, MAX_F16X2_u32, NULL}, {CT_OP_MAX_BF16X2, MAX_BF16X2_u32, NULL},
    {CT_OP_FMA_F16X2, NULL, FMA_F16X2_u32}, {CT_OP_FMA_BF16X2, NULL, FMA_BF16X2_u32},
};

enum { BESIDE = 12, TRIPLES = SOME_OF(400000) };

static uint32_t state = 12345;
static uint32_t next(void) {
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

/* A third term near the negated product: the sum cancels. */
static uint32_t near_product(CtDtype t, uint32_t a, uint32_t b) {
  double p = ct_float_of_bits(t, a) * ct_float_of_bits(t, b);
  return ((uint32_t)ct_bits_of_float(t, -p) + next() % 5 - 2) & 0xffff;
}

static int check(size_t i, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t got = functions[i].two != NULL ? functions[i].two(a, b) : functions[i].three(a, b, c);
  uint32_t want = ref_word(functions[i].op, a, b, c);
  if (got == want) {
    return 0;
  }
  tap_diag("%s %08x %08x %08x: got %08x, want %08x", ct_ops[functions[i].op].text, a, b, c, got,
           want);
  return 1;
}

static int check_all_halves(size_t i) {
  int wrong = 0;
  for (uint32_t a = 0; a < 0x10000 && wrong < 5; a += TAP_PART) {
    for (int n = 0; n < BESIDE; n++) {
      uint32_t b = next();
      /* the second half: of nearly the same size */
      wrong += check(i, a | a << 16, (b & 0xffff) | (a + b % 64 - 32) << 16, next());
    }
  }
  return wrong;
}

static int check_triples(size_t i) {
  CtDtype t = functions[i].op == CT_OP_FMA_F16X2 ? CT_f16 : CT_bf16;
  int wrong = 0;
  for (int n = 0; n < TRIPLES && wrong < 5; n++) {
    uint32_t a = next() & 0xffff, b = next() & 0xffff, c = near_product(t, a, b);
    wrong += check(i, a | next() << 16, b | next() << 16, c | next() << 16);
  }
  return wrong;
}

int main(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    bool is_three = functions[i].three != NULL;
    int wrong = check_all_halves(i) + (is_three ? check_triples(i) : 0);
    OK(wrong == 0, "%s: %d wrong", ct_ops[functions[i].op].text, wrong);
  }
  return done_testing();
}
