/* bits.h: the bits of floats as integers, and back. Always inline, so that loops over lanes vectorise. */
#ifndef CT_BITS_H
#define CT_BITS_H

#include <stdint.h>
#include <string.h>

#define CT_BITS_INLINE static inline __attribute__((always_inline))

CT_BITS_INLINE float ct_f32_of_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
CT_BITS_INLINE double ct_f64_of_bits(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
CT_BITS_INLINE uint32_t ct_bits_of_f32(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
CT_BITS_INLINE uint64_t ct_bits_of_f64(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

#endif
