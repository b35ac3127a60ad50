/* mma_host.h: CUDA C of products of narrow floats on the host, for tests/lua/program/mma_host.lua: what a warp does
   together is written from the PTX ISA (9.7.14.3, 9.7.14.5.10, 9.7.14.5.11, 9.7.14.5.14), apart from the layouts of
   runtime/ir/atoms.def and from the CPU engine. */
#include "warp_host.h"

#include <cmath>
#include <string>

struct float2 {
  float x, y;
};
static float2 make_float2(float x, float y) { return {x, y}; }

/* --- numbers ------------------------------------------------------------------------------------- */

/* A float of so many bits of exponent and of fraction, without infinities. */
static double narrow(unsigned bits, int exponent, int fraction, int bias) {
  int e = (int)(bits >> fraction) & ((1 << exponent) - 1);
  double f = std::ldexp((double)(bits & ((1u << fraction) - 1)), -fraction) + (e > 0 ? 1 : 0);
  double v = std::ldexp(f, (e > 0 ? e : 1) - bias);
  return (bits >> (exponent + fraction) & 1) != 0 ? -v : v;
}

/* An element in its place of 8 bits, or of 4. */
static double element(const std::string &type, unsigned bits, bool is_packed) {
  if (type == "e4m3")
    return narrow(bits, 4, 3, 7);
  if (type == "e5m2")
    return narrow(bits, 5, 2, 15);
  if (type == "e3m2")
    return narrow(bits & 63, 3, 2, 3);
  if (type == "e2m3")
    return narrow(bits & 63, 2, 3, 1);
  return narrow(is_packed ? bits : bits >> 2 & 15, 2, 1, 1); /* the central 4 bits of a byte */
}

static double scale(const std::string &type, unsigned bits) {
  return type == "ue8m0" ? std::ldexp(1.0, (int)bits - 127) : narrow(bits & 127, 4, 3, 7);
}

/* --- the instruction ----------------------------------------------------------------------------- */

struct Operands {
  unsigned a[4], b[2], sfa, sfb;
};
static Operands operands[8][LANES]; /* of each warp */

/* The i-th of the words that follow the dots: "mma.sync.aligned.m16n8k32.row..." */
static std::string part(const std::string &ptx, int i) {
  size_t at = 0;
  for (; i > 0; i--)
    at = ptx.find('.', at) + 1;
  return ptx.substr(at, ptx.find('.', at) - at);
}

static unsigned bits_of(const unsigned *words, int i, int width) {
  int per = 32 / width;
  return words[i / per] >> (i % per * width) & ((1u << width) - 1);
}

/* Element i of a lane's A is in row `row` and column `col`. */
static void place_of_a(int lane, int i, int per, int *row, int *col) {
  *row = lane / 4 + (i / per % 2 == 0 ? 0 : 8);
  *col = lane % 4 * per + i % per + (i >= 2 * per ? 4 * per : 0);
}

static void mma(const char *text, float **c, const unsigned *a, const unsigned *b,
                const unsigned *sf) {
  const std::string ptx = text;
  bool is_packed = ptx.find("m16n8k64") != std::string::npos, has_scales = sf != nullptr;
  int k = is_packed ? 64 : 32, width = is_packed ? 4 : 8, per = 32 / width;
  int blocks = !has_scales ? 1 : ptx[ptx.find("scale_vec::") + 11] - '0';
  int types = has_scales ? 9 : 7; /* the place of D's type */
  const std::string of_a = part(ptx, types + 1), of_b = part(ptx, types + 2),
                    of_sf = has_scales ? part(ptx, types + 4) : "";
  Operands *all = operands[threadIdx.x / LANES];
  Operands &mine = all[lane()];
  memcpy(mine.a, a, sizeof mine.a);
  memcpy(mine.b, b, sizeof mine.b);
  mine.sfa = has_scales ? sf[0] : 0;
  mine.sfb = has_scales ? sf[1] : 0;
  meet();
  for (int i = 0; i < 4; i++) {
    int row = lane() / 4 + i / 2 * 8, col = lane() % 4 * 2 + i % 2;
    for (int block = 0; block < blocks; block++) {
      double sum = 0;
      for (int l = block * k / blocks; l < (block + 1) * k / blocks; l++) {
        double x = NAN, y = NAN;
        for (int from = 0; from < LANES; from++) {
          for (int e = 0; e < 16 * k / LANES; e++) {
            int r, at;
            place_of_a(from, e, per, &r, &at);
            if (r == row && at == l)
              x = element(of_a, bits_of(all[from].a, e, width), is_packed);
          }
          for (int e = 0; e < 8 * k / LANES; e++) {
            int at = from % 4 * per + e % per + (e >= per ? 4 * per : 0);
            if (from / 4 == col && at == l)
              y = element(of_b, bits_of(all[from].b, e, width), is_packed);
          }
        }
        sum += x * y;
      }
      if (has_scales) { /* of lanes 0 and 1 of four, and of lane 0 */
        unsigned sfa = all[row % 8 * 4 + row / 8].sfa, sfb = all[col * 4].sfb;
        sum *= scale(of_sf, sfa >> 8 * block & 255) * scale(of_sf, sfb >> 8 * block & 255);
      }
      *c[i] = (float)((double)*c[i] + sum);
    }
  }
  meet();
}

/* --- tests --------------------------------------------------------------------------------------- */

/* Byte i of an operand: none is an infinity or a NaN, and of 6 bits none has more. */
static unsigned char pattern(int i, int seed, int mask) {
  return (unsigned char)((unsigned)(i * 40503 + seed) >> 4 & (unsigned)mask);
}
static unsigned char near_one(int i, int seed) { return (unsigned char)((i * 7 + seed) % 5); }

template <class Kernel>
static void multiply(const char *name, int n_a, int n_b, int n_sfa, int n_sfb, int n_c, int mask_a,
                     int mask_b, int one, int threads, Kernel k) {
  std::vector<unsigned char> a((size_t)n_a), b((size_t)n_b), sfa((size_t)n_sfa), sfb((size_t)n_sfb);
  std::vector<float> c((size_t)n_c);
  for (int i = 0; i < n_a; i++)
    a[(size_t)i] = pattern(i, 3, mask_a);
  for (int i = 0; i < n_b; i++)
    b[(size_t)i] = pattern(i, 11, mask_b);
  for (int i = 0; i < n_sfa; i++)
    sfa[(size_t)i] = (unsigned char)(one + near_one(i, 1));
  for (int i = 0; i < n_sfb; i++)
    sfb[(size_t)i] = (unsigned char)(one + near_one(i, 2));
  launch(threads, [&] { k(a.data(), b.data(), sfa.data(), sfb.data(), c.data()); });
  unsigned hash = 0;
  for (float v : c) {
    unsigned bits;
    memcpy(&bits, &v, sizeof bits);
    hash = hash * 31 + bits;
  }
  printf("%s %u\n", name, hash);
}
