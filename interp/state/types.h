/* types.h: the names of the language's types: of their metatables in the registry. To ask whether a value
   is a tensor, luaL_testudata(L, idx, TENSOR_TYPE) is enough; only its room knows what is in it. */
#ifndef CUTTLE_TYPES_H
#define CUTTLE_TYPES_H

#define LAYOUT_TYPE "layout"
#define SWIZZLE_TYPE "swizzle"
#define TUPLE_TYPE "tuple"
#define DTYPE_TYPE "dtype"
#define NUMBER_TYPE "number of a given type"
#define BASIS_TYPE "basis element"
#define ANY_TYPE "_"
#define INDEX_TYPE "index" /* threadIdx and its like */
#define ATOM_TYPE "atom"
#define TENSOR_TYPE "tensor"
#define RANGE_TYPE "range"
#define LIST_TYPE "list of tensors"

#endif
