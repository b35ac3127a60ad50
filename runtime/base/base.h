/* base.h: what every file of the core uses: assertions, attributes, checked integer arithmetic.
   Standard headers only; nothing here allocates or fails. */
#ifndef CT_BASE_H
#define CT_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CT_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CT_NODISCARD __attribute__((warn_unused_result))
#define CT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CT_ASSERT(x) assert(x) /* what we promised ourselves; never what a script can cause */
#define CT_UNREACHABLE() (assert(0 && "unreachable"), __builtin_unreachable())

/* A flag that any thread, or a signal handler, sets to stop long work: an int, as C++ knows that too. NULL
   is never up. One that asks is up if the owner of the work says so: ask.h. */
enum { CT_FLAG_STOP = 1, CT_FLAG_ASK = 2 };
bool ct_flag_answer(
    const volatile int *flag); /* of one that asks; other threads than the owner's go on */
static inline int ct_flag_value(const volatile int *flag) {
  return flag == NULL ? 0 : __atomic_load_n(flag, __ATOMIC_RELAXED);
}
static inline bool ct_flag_is_up(const volatile int *flag) {
  int value = ct_flag_value(flag);
  return value != 0 && (value == CT_FLAG_STOP || ct_flag_answer(flag));
}

/* Checked 64-bit arithmetic: true when the exact result does not fit (then *r is unspecified). */
static inline bool ct_add_overflow(int64_t a, int64_t b, int64_t *r) {
  return __builtin_add_overflow(a, b, r);
}
static inline bool ct_sub_overflow(int64_t a, int64_t b, int64_t *r) {
  return __builtin_sub_overflow(a, b, r);
}
static inline bool ct_mul_overflow(int64_t a, int64_t b, int64_t *r) {
  return __builtin_mul_overflow(a, b, r);
}
static inline bool ct_size_mul_overflow(size_t a, size_t b, size_t *r) {
  return __builtin_mul_overflow(a, b, r);
}

/* Lua's integer division and modulo: towards minus infinity. b must not be 0. */
static inline int64_t ct_floordiv(int64_t a, int64_t b) {
  if (b == -1) {
    return (int64_t)(0 - (uint64_t)a);
  }
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a ^ b) < 0));
}
static inline int64_t ct_floormod(int64_t a, int64_t b) {
  if (b == -1) {
    return 0;
  }
  int64_t r = a % b;
  return (r != 0 && (r ^ b) < 0) ? r + b : r;
}

/* The quotient rounded up. b must not be 0; INT64_MIN by -1 wraps around. */
static inline int64_t ct_ceildiv(int64_t a, int64_t b) {
  if (b == -1) {
    return (int64_t)(0 - (uint64_t)a);
  }
  return a / b + ((a % b != 0) && ((a ^ b) >= 0));
}

static inline int64_t ct_gcd(int64_t a, int64_t b) { /* of magnitudes; gcd(0, x) = |x| */
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y != 0) {
    uint64_t t = x % y;
    x = y;
    y = t;
  }
  return (int64_t)x;
}

static inline int64_t ct_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ct_max(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
