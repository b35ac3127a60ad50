/* ir_file_rows.h: the fields of an IR's structs as rows, which writer and reader both go by. */
#ifndef CT_IR_FILE_ROWS_H
#define CT_IR_FILE_ROWS_H

#include "ir_build.h"
#include "ir_file.h"
#include "ir_tma.h"

/* What a field is: X(NAME). Each has a put_, a get_ and a test of absence. */
#define CT_FIELD_KINDS(X)                                                                          \
  X(UINT) /* an unsigned integer below the limit */                                                \
  X(INT)  /* a signed one */                                                                       \
  X(BOOL)                                                                                          \
  X(IMM)     /* of a CtInst: a float, if it is a constant one, else an integer */                  \
  X(FACTS)   /* of a CtInst: absent where they say what the type says */                           \
  X(TEXT)    /* a C string, or NULL */                                                             \
  X(TUPLE)   /* a CtTuple, or NULL */                                                              \
  X(INTEGER) /* a CtInt */                                                                         \
  X(PART)    /* a struct in place */                                                               \
  X(ARRAY)   /* a pointer to as many structs as another field says, or to one; or NULL */          \
  X(ATOM)    /* a CtAtom, by its name; or NULL */                                                  \
  X(BYTES)   /* of a CtBuf: the elements of constant memory, or NULL */                            \
  X(DATA)    /* of a CtInst: the member of its union that the operation has */                     \
  X(MEMBERS) /* of a CtRegionInfo: the operations that stand in it */                              \
  X(TABLE)   /* of a CtIr: an array that grows */
typedef enum CtFieldKind {
#define X(NAME) CT_FIELD_##NAME,
  CT_FIELD_KINDS(X)
#undef X
      CT_FIELD_KIND_COUNT
} CtFieldKind;

/* What a number stays below: X(NAME, value), where 0 says that the IR's own tables do. */
#define CT_LIMITS(X)                                                                               \
  X(NONE, UINT64_MAX)                                                                              \
  X(WORDS, UINT32_MAX)                                                                             \
  X(VALUES, 0)                                                                                     \
  X(REGIONS, 0)                                                                                    \
  X(BUFS, 0)                                                                                       \
  X(PARAMS, 0) /* or their number */                                                               \
  X(SLOTS, 0)  /* or their number */                                                               \
  X(CHUNKS, 0)                                                                                     \
  X(MAPS, 0)                                                                                       \
  X(OPS, CT_OP_COUNT)                                                                              \
  X(DTYPES, CT_DTYPE_COUNT)                                                                        \
  X(SPACES, CT_TENSOR + 1)                                                                         \
  X(CACHES, CT_CACHE_COUNT)                                                                        \
  X(SLOT_KINDS, CT_SLOT_NUMBER + 1)                                                                \
  X(EFFECTS, CT_TEXT_WRITES + 1)                                                                   \
  X(REDUCTIONS, CT_TMA_REDUCE_COUNT)                                                               \
  X(DIMS, CT_TMA_DIMS + 1)                                                                         \
  X(AXES, CT_GUARD_MAX + 1)                                                                        \
  X(LOOPS, CT_GEMM_MAX_LOOPS + 1)                                                                  \
  X(MODES, 2)                                                                                      \
  X(STEPS, CT_GEMM_MAX_STEP + 1)
typedef enum CtLimit {
#define X(NAME, value) CT_LIMIT_##NAME,
  CT_LIMITS(X)
#undef X
      CT_LIMIT_COUNT
} CtLimit;

enum { CT_COUNT_COLUMNS = 0xffff }; /* a CtField.n_size: a CtTensorSpec's dynamic leaves */

typedef struct CtField {
  const char *name;
  uint16_t at, size; /* of the first element, in its struct */
  uint16_t times;    /* elements in place */
  uint8_t kind;      /* CtFieldKind */
  uint8_t limit;     /* CtLimit */
  const struct CtShape *of;
  /* ARRAY, TABLE: the field with the number of elements; size 0: it is one */
  uint16_t n_at, n_size;
  uint16_t cap_at; /* TABLE */
  uint8_t first;   /* TABLE: the first element that counts */
} CtField;

/* The rows of a struct. One with a single row is that value; else the fields that are not absent follow
   a mask of them. */
typedef struct CtShape {
  const char *name;
  uint16_t size;
  uint8_t n;
  const CtField *fields;
} CtShape;

#define CT_FIELD_SIZE(T, field) (sizeof(((T *)0)->field))
/* Where a field lies, of one element and of many; where the field lies that counts them. */
#define CT_ONE(T, field)                                                                           \
  .name = #field, .at = offsetof(T, field), .size = CT_FIELD_SIZE(T, field), .times = 1
#define CT_MANY(T, field)                                                                          \
  .name = #field, .at = offsetof(T, field), .size = CT_FIELD_SIZE(T, field[0]),                    \
  .times = CT_FIELD_SIZE(T, field) / CT_FIELD_SIZE(T, field[0])
#define CT_BY(T, n_field) .n_at = offsetof(T, n_field), .n_size = CT_FIELD_SIZE(T, n_field)

#define CT_ROW(T, field, sort, lim)                                                                \
  { CT_ONE(T, field), .kind = CT_FIELD_##sort, .limit = CT_LIMIT_##lim }
#define CT_EACH(T, field, sort, lim)                                                               \
  { CT_MANY(T, field), .kind = CT_FIELD_##sort, .limit = CT_LIMIT_##lim }
#define CT_PART(T, field, shape)                                                                   \
  { CT_ONE(T, field), .kind = CT_FIELD_PART, .of = &(shape) }
#define CT_PARTS(T, field, shape)                                                                  \
  { CT_MANY(T, field), .kind = CT_FIELD_PART, .of = &(shape) }
/* Of which so many count. */
#define CT_COUNTED(T, field, n_field, shape)                                                       \
  { CT_MANY(T, field), .kind = CT_FIELD_PART, .of = &(shape), CT_BY(T, n_field) }
#define CT_POINTER(T, field, shape)                                                                \
  { CT_ONE(T, field), .kind = CT_FIELD_ARRAY, .of = &(shape) }
#define CT_ARRAY(T, field, n_field, shape)                                                         \
  { CT_ONE(T, field), .kind = CT_FIELD_ARRAY, .of = &(shape), CT_BY(T, n_field) }
#define CT_TABLE(field, n_field, cap_field, from, shape)                                           \
  {                                                                                                \
    CT_ONE(CtIr, field), .kind = CT_FIELD_TABLE, .of = &(shape), CT_BY(CtIr, n_field),             \
                         .cap_at = offsetof(CtIr, cap_field), .first = (from)                      \
  }
#define CT_SHAPE(name, T, rows)                                                                    \
  { #name, sizeof(T), CT_ARRAY_LEN(rows), rows }

extern const CtShape ct_shape_head, ct_shape_body; /* of a CtIr: what says the limits; the rest */
extern const CtShape ct_shape_tile, ct_shape_text, ct_shape_tma;
extern const CtShape *const ct_shapes[]; /* all, ended by NULL */

enum { CT_IR_FILE_HEADER = 20 };
#define CT_IR_FILE_MAGIC "CUTTLEIR"

uint64_t ct_ir_file_fingerprint(void);
void ct_ir_file_limits(const CtIr *ir, uint64_t out[CT_LIMIT_COUNT]);
/* Elements of an ARRAY or a TABLE. */
uint64_t ct_field_count(const CtField *field, const void *base);
int ct_field_times(const CtField *field, const void *base); /* elements in place that count */
/* The rows of the data that an operation has in CtInst.u; NULL: none, or regions. */
const CtShape *ct_shape_of_op(CtOp op);
/* An unsigned field of any width. */
uint64_t ct_field_uint(const void *at, size_t size);

/* ir_trust.c: what ct_ir_check and the readers of an IR take for granted. */
CtStatus ct_ir_trust(const CtIr *ir, CtErr *err) CT_NODISCARD;
/* ir_again.c: operations on whole tensors, made by the builder from what a file says of them. */
CtStatus ct_ir_make_again(CtIr *ir, CtErr *err) CT_NODISCARD;

#endif
