/* ir_op.c: the table of operations. */
#include "ir_op.h"

/* The traits by the names that ops.def gives them. */
enum {
#define X(NAME, bit) NAME = CT_TRAIT_##NAME,
  CT_OP_TRAITS(X)
#undef X
};

const CtOpInfo ct_ops[CT_OP_COUNT] = {
    [CT_OP_NONE] = {.text = "none"},
#define OP(NAME, text, n, result, cls, data, traits, ...)                                          \
  [CT_OP_##NAME] = {text, n, CT_RES_##result, CT_CLS_##cls, CT_DATA_##data, CT_TYPES_NONE, traits},
#define PURE(NAME, text, n, result, types, traits, ...)                                            \
  [CT_OP_##NAME] = {text, n, CT_RES_##result, CT_CLS_PURE, CT_DATA_NONE, CT_TYPES_##types, traits},
#include "ops.def"
};
