/* tensor_core.h: the arithmetic of tensor cores on floats: how D = A B + C is rounded, bit for bit.

   A tensor core adds a block of products and the accumulator at once. Each product a b is exact, with
   the exponent e(a) + e(b), where e is the operand's own (a subnormal's is the smallest of its type): a
   product is not normalised. All addends are cut, towards 0, to `fraction_bits` binary places behind the
   largest exponent among them; their sum is exact and then rounded to the result. So the order
   within a block does not matter, and a sum is less exact than a float's if addends cancel.

   A sum of 0, or one that is rounded to 0, is +0. A tf32 is read without its lowest 13 bits: a NaN
   with no other bits is an infinity.

   NVIDIA documents none of this. What sm_90 does is measured: tests/device/test_tensor_core_bits.c
   compared every instruction of the atoms of real floats (of wgmma n = 8, A in registers), 92,160 or
   184,320 results each, with an H200 (driver 580, CUDA 13.0), and all bits agree; a choice of the results
   is tests/c/tensor_core_bits.def. That includes `floor`, told by bf16 from both sides, by tf32 only from
   above, and the order of f64: one fused multiply-add after the other, k ascending, from c. Other
   targets are published, not measured here, their signs of 0 and `floor` being sm_90's: Xie et al.,
   "MMA-Sim" (arXiv:2511.10909); Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores"
   (arXiv:2512.07004). */
#ifndef CT_TENSOR_CORE_H
#define CT_TENSOR_CORE_H

#include "runtime/ir/atom.h"

typedef enum CtTcSum {
  CT_TC_FUSED, /* block by block, as above */
  CT_TC_CHAIN, /* c + fma(a3, b3, fma(a2, b2, fma(a1, b1, a0 b0))), in f32 */
  CT_TC_PAIRS, /* (c + fma(a1, b1, a0 b0)) + fma(a3, b3, a2 b2), in f32 */
} CtTcSum;

typedef enum CtTcRound {
  CT_TC_F32,   /* towards 0, infinite from 2^128 on */
  CT_TC_E8M13, /* the same, but to 13 binary places, in an f32 */
  CT_TC_F16,   /* to nearest even */
} CtTcRound;

typedef struct CtTcModel {
  CtTcSum sum;
  CtTcRound round;     /* of each block, and so of the result */
  int block;           /* products that are added at once: a multiple of 4 */
  int fraction_bits;   /* block * 2^fraction_bits <= 2^29 */
  int min_exponent[3]; /* of numbers of A, B and the accumulator: -14 of f16 */
  int floor;           /* no smaller largest exponent than this; not less than -280 */
  bool is_tf32;        /* the lowest 13 bits of an operand are not read */
  bool halves_of_4;    /* of each four k the first two are summed first, then all others */
  bool c_last;         /* the sum starts from 0; c is added to it by an ordinary addition */
} CtTcModel;

enum { CT_TC_MAX_K = 64 };

/* How the atom computes on the target of compute capability `sm` (90 for 9.0). False when it is not one of
   floats up to f32: products of integers are exact, those of f64 are fused multiply-adds in the order
   of k. */
bool ct_tc_model(const CtAtom *atom, int sm, CtTcModel *out);

/* Operands taken apart, so that many products may share them: a row of A; eight columns of B, zero
   beyond n. The exponent of a number that is 0 or not finite is CT_TC_NONE. */
enum { CT_TC_LANES = 8, CT_TC_NONE = -10000 };
typedef struct CtTcRow {
  float v[CT_TC_MAX_K];
  int32_t e[CT_TC_MAX_K];
  uint32_t is_far; /* the numbers other than 0 whose exponents need the slow way */
  uint32_t unused[7];
} CtTcRow;
typedef struct CtTcCols {
  float v[CT_TC_MAX_K][CT_TC_LANES];
  int32_t e[CT_TC_MAX_K][CT_TC_LANES];
  uint32_t is_far, unused[7];
} CtTcCols;

/* d[i][j] = c[i][j] + sum of a[i][l] b[l][j], i < m, j < n <= CT_TC_LANES, l < k <= CT_TC_MAX_K: all
   dense, by rows, in f32, which holds each operand and (an f16, too) each result. d may be c. A NaN is
   0x7FFFFFFF. In parts: the rows of a, the columns of b, their product.
   Compiled once per instruction set; the name is that of the file that includes this one. */
typedef void CtTcRows(const CtTcModel *model, int m, int k, const float *a, CtTcRow *rows);
typedef void CtTcColsOf(const CtTcModel *model, int n, int k, const float *b, CtTcCols *cols);
typedef void CtTcProduct(const CtTcModel *model, int m, int n, int k, const CtTcRow *rows,
                         const CtTcCols *cols, const float *c, float *d);
CtTcRows ct_tc_rows_base;
CtTcColsOf ct_tc_cols_base;
CtTcProduct ct_tc_product_base;
#if defined(__x86_64__)
CtTcRows ct_tc_rows_avx2, ct_tc_rows_avx512;
CtTcColsOf ct_tc_cols_avx2, ct_tc_cols_avx512;
CtTcProduct ct_tc_product_avx2, ct_tc_product_avx512;
#endif
#if defined(CT_SIMT_AVX512)
#define CT_TC_NAME(name) name##_avx512
#elif defined(CT_SIMT_AVX2)
#define CT_TC_NAME(name) name##_avx2
#else
#define CT_TC_NAME(name) name##_base
#endif
#define ct_tc_rows CT_TC_NAME(ct_tc_rows)
#define ct_tc_cols CT_TC_NAME(ct_tc_cols)
#define ct_tc_product CT_TC_NAME(ct_tc_product)

#endif
