/* simt_handler.h: what files of the CPU engine's handlers share. Each such file is compiled once per
   instruction set and ends with the table of its rows.

   Lane loops carry no dependence: an operand's slot is the result's or does not overlap it. The
   pragma tells the compiler so. Pure operations work on all lanes, active or not. */
#ifndef CT_SIMT_HANDLER_H
#define CT_SIMT_HANDLER_H

#include "simt_run.h"
#include "simt_scalar.h"

#if defined(__clang__)
/* clang cannot vectorise a loop of libm calls, and warns */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EACH_OF(n) _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < (n); i++)
#else
#define EACH_OF(n) _Pragma("GCC ivdep") for (int i = 0; i < (n); i++)
#endif
#define LANES EACH_OF(CT_LANES)

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define HANDLER(name) static const CtIn *name(const CtIn *in, CtWarp *w)
#define SCALAR(at) (CT_AT(CtScalar, w, (at)))
#define MASK(at) (*CT_AT(uint32_t, w, (at)))

/* Lane i's bit of a mask, in a form that vectorisers understand. */
static const uint32_t lane_bits[CT_LANES] = {
#define BITS4(n) 1u << (n), 1u << ((n) + 1), 1u << ((n) + 2), 1u << ((n) + 3)
    BITS4(0),  BITS4(4),  BITS4(8), BITS4(12), BITS4(16),
    BITS4(20), BITS4(24), BITS4(28)
#undef BITS4
};

/* A zero divisor in an active lane is an error; the other lanes divide by 1 instead. */
#define HAS_ZERO(t)                                                                                \
  static inline bool has_zero_##t(const CtWarp *w, const CtT_##t *b, int *lane) {                  \
    uint32_t zeros = 0;                                                                            \
    LANES { zeros |= b[i] == 0 ? lane_bits[i] : 0; }                                               \
    zeros &= w->mask;                                                                              \
    *lane = zeros != 0 ? ct_first_lane(zeros) : 0;                                                 \
    return zeros != 0;                                                                             \
  }
HAS_ZERO(i64)
HAS_ZERO(i32)
HAS_ZERO(u64)
HAS_ZERO(u32)
#undef HAS_ZERO

#endif
