/* ir_math.c: folds the functions of floats, with the bits that both engines compute. */
#include "runtime/math/math.h"
#include "ir_build.h"

#define ONE(NAME, name)                                                                            \
  static double of_##NAME(CtDtype type, double a, double b) {                                      \
    (void)b;                                                                                       \
    return type == CT_f32 ? (double)ct_##name##_f32((float)a) : ct_##name##_f64(a);                \
  }
#define TWO(NAME, name)                                                                            \
  static double of_##NAME(CtDtype type, double a, double b) {                                      \
    return type == CT_f32 ? (double)ct_##name##_f32((float)a, (float)b) : ct_##name##_f64(a, b);   \
  }
#include "runtime/math/math_names.def"
#undef ONE
#undef TWO

/* Exact, or rounded once more without an effect. */
static double of_sqrt(CtDtype type, double a, double b) {
  (void)type;
  (void)b;
  return sqrt(a);
}
static double of_fmod(CtDtype type, double a, double b) {
  (void)type;
  return fmod(a, b);
}
static double of_copysign(CtDtype type, double a, double b) {
  (void)type;
  return copysign(a, b);
}

static double (*const functions[CT_OP_COUNT])(CtDtype type, double a, double b) = {
#define ONE(NAME, name) [CT_OP_##NAME] = of_##NAME,
#define TWO(NAME, name) [CT_OP_##NAME] = of_##NAME,
#include "runtime/math/math_names.def"
    [CT_OP_SQRT] = of_sqrt, [CT_OP_FMOD] = of_fmod, [CT_OP_COPYSIGN] = of_copysign};

bool ct_fold_math(CtOp op, CtDtype type, double a, double b, double *out) {
  bool known = functions[op] != NULL && (type == CT_f32 || type == CT_f64);
  *out = known ? functions[op](type, a, b) : 0;
  return known;
}
