/* dtype.h: element types. Everything that depends on the type of an element is a column of
   dtypes.def or a table with one row per CtDtype. */
#ifndef CT_DTYPE_H
#define CT_DTYPE_H

#include "base.h"
#include "size.h"

typedef enum CtDtype {
  CT_VOID, /* of IR operations without a result */
#define DTYPE(name, ...) CT_##name,
#include "dtypes.def"
  CT_DTYPE_COUNT
} CtDtype;

typedef enum CtDtypeClass {
  CT_CLASS_NONE,
  CT_CLASS_FLOAT,
  CT_CLASS_INT,
  CT_CLASS_BOOL
} CtDtypeClass;

typedef enum CtDlpackCode {
  CT_DLPACK_INT = 0,
  CT_DLPACK_UINT = 1,
  CT_DLPACK_FLOAT = 2,
  CT_DLPACK_BFLOAT = 4,
  CT_DLPACK_BOOL = 6,
  CT_DLPACK_FLOAT8_E4M3FN = 10,
  CT_DLPACK_FLOAT8_E5M2 = 12,
  CT_DLPACK_FLOAT8_E8M0FNU = 14,
  CT_DLPACK_FLOAT6_E2M3FN = 15,
  CT_DLPACK_FLOAT6_E3M2FN = 16,
  CT_DLPACK_FLOAT4_E2M1FN = 17
} CtDlpackCode;

typedef struct CtDtypeInfo {
  const char *name;  /* as in scripts: "f32" */
  const char *cuda;  /* as in CUDA C: "float" */
  const char *npy;   /* NumPy descr, little-endian; NULL where NumPy has none */
  const char *ctype; /* the C type of its place in memory: "float", "uint16_t" */
  int bits;          /* of its values */
  int bytes;         /* of its place in memory */
  CtDlpackCode dlpack;
  CtDtypeClass cls;
  bool is_unsigned;       /* an INT from 0 on */
  bool has_sign;          /* of a float: it has negative numbers */
  CtDtype compute;        /* the type of arithmetic; see dtypes.def */
  int exponent, fraction; /* bits, of a float */
} CtDtypeInfo;

extern const CtDtypeInfo ct_dtypes[CT_DTYPE_COUNT];

CtDtype ct_dtype_from_name(const char *name); /* CT_VOID when there is none */
/* Of one value that has a place of its own, as it has in a register, in the slot of a lane, and where one element is read
   or written; of its bits, `bits` may be fewer. It counts no elements, for in global and shared memory those of 4 bits
   are packed: scripts/check_bytes.lua refuses to multiply it. */
static inline size_t ct_value_bytes(CtDtype t) { return (size_t)ct_dtypes[t].bytes; }
/* Of n elements that have places of their own: in registers, in constant memory, and in the dense arrays through which
   the host reads and writes elements. */
static inline size_t ct_dense_bytes(CtDtype t, size_t n) { return n * ct_value_bytes(t); }
/* How many elements there have no more bytes than that. */
static inline uint64_t ct_dense_count(CtDtype t, uint64_t bytes) {
  return bytes / ct_value_bytes(t);
}
/* Whether such an array of n >= 0 elements fits into memory; *bytes gets its bytes. */
static inline bool ct_dense_fits(CtDtype t, int64_t n, size_t *bytes) {
  return ct_fits_memory(n, ct_value_bytes(t), bytes);
}
static inline int ct_dtype_width(CtDtype t) { return 8 * ct_dtypes[t].bytes; }
/* Two elements of 4 bits share a byte of memory: the one with the even index has the low bits. */
static inline bool ct_dtype_is_packed(CtDtype t) { return ct_dtypes[t].bits == 4; }
/* Bits from an element in global or shared memory to the next one. */
static inline int ct_dtype_pitch(CtDtype t) {
  return ct_dtype_is_packed(t) ? ct_dtypes[t].bits : ct_dtype_width(t);
}
/* The byte there in which the element of an index begins. */
static inline int64_t ct_dtype_byte(CtDtype t, int64_t index) {
  return ct_dtype_is_packed(t) ? index >> 1 : index * (int64_t)ct_value_bytes(t);
}
/* Bytes that n elements take there, which are in memory that exists, and elements that n bytes hold. */
static inline int64_t ct_dtype_span(CtDtype t, int64_t n) {
  return ct_dtype_is_packed(t) ? n / 2 + n % 2 : n * (int64_t)ct_value_bytes(t);
}
static inline int64_t ct_dtype_count(CtDtype t, int64_t bytes) {
  return ct_dtype_is_packed(t) ? bytes * 2 : bytes / (int64_t)ct_value_bytes(t);
}
/* The same of n >= 0 elements that somebody asks for. True: they take 2^63 bytes or more. */
static inline bool ct_dtype_span_overflow(CtDtype t, int64_t n, int64_t *bytes) {
  if (ct_dtype_is_packed(t)) {
    *bytes = ct_dtype_span(t, n);
    return false;
  }
  return ct_mul_overflow(n, (int64_t)ct_value_bytes(t), bytes);
}
/* Whether they fit into memory. */
static inline bool ct_dtype_span_fits(CtDtype t, int64_t n, size_t *bytes) {
  int64_t span;
  return !ct_dtype_span_overflow(t, n, &span) && ct_fits_memory(span, 1, bytes);
}
/* May an element begin at that byte? */
static inline bool ct_dtype_begins_at(CtDtype t, uint64_t byte) {
  return byte % ct_value_bytes(t) == 0;
}
static inline bool ct_is_float(CtDtype t) { return ct_dtypes[t].cls == CT_CLASS_FLOAT; }
static inline bool ct_is_int(CtDtype t) { return ct_dtypes[t].cls == CT_CLASS_INT; }
static inline bool ct_is_unsigned(CtDtype t) { return ct_dtypes[t].is_unsigned; }
static inline CtDtype ct_dtype_compute(CtDtype t) { return ct_dtypes[t].compute; }
static inline bool ct_is_narrow(CtDtype t) { return ct_dtypes[t].compute != t; }
/* A float that C holds as an integer of its bits. */
static inline bool ct_is_bits(CtDtype t) {
  return ct_is_float(t) && ct_is_narrow(t) && t != CT_tf32;
}
/* The integer types' ends, as 64-bit integers hold them: a u64 has every pattern, so both ends of
   int64_t; see ct_dtype_fits. */
int64_t ct_dtype_min(CtDtype t);
int64_t ct_dtype_max(CtDtype t);
/* May the 64-bit integer be a value of the integer type? For u64 it says the bits, as Lua's own
   hexadecimal numbers do. */
static inline bool ct_dtype_fits(CtDtype t, int64_t v) {
  return v >= ct_dtype_min(t) && v <= ct_dtype_max(t);
}
/* Is every value of the one type a value of the other, without rounding? Bools are no numbers. */
bool ct_dtype_holds(CtDtype t, CtDtype every);
/* The value modulo 2^bits, as a 64-bit integer holds it. */
int64_t ct_dtype_wrap(CtDtype t, int64_t v);

#endif
