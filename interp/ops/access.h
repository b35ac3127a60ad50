/* access.h: the tensors of a kernel in the running trace: the view in an argument, an element at a
   coordinate, and what a launch must keep to. All functions raise. */
#ifndef CUTTLE_ACCESS_H
#define CUTTLE_ACCESS_H

#include "interp/tensor/tensor.h"

/* The tensor in an argument, which must be one of the running trace, with memory. */
CtView access_view(lua_State *L, int idx, const char *op);
/* A coordinate in t, wide enough for arithmetic with its layout: if indices of the kernel's tensor need
   64 bits, its run-time entries have them. */
CtTuple access_coordinate(lua_State *L, const Tensor *t, CtTuple crd);
/* The offset of the element at `crd`, for a message that begins with `verb`. A static one must lie in
   the memory that the kernel declared. */
CtVal access_offset(lua_State *L, const Tensor *t, CtTuple crd, const char *verb);
/* Pushes the traced value of the element at `crd` (no `_` in it; leaves may be dynamic). */
void access_load(lua_State *L, const Tensor *t, CtTuple crd);
/* Stores the Lua value at `value_idx`: a traced value, number or boolean. */
void access_store(lua_State *L, const Tensor *t, CtTuple crd, int value_idx);

/* A dynamic extent must be a multiple of r.modulus: each launch is checked. r.value is found here. */
void access_require(lua_State *L, CtInt extent, CtRequire r);
/* The thread layout `thr` is about to divide work, and the thread takes part `index`: raises if that is the
   thread's own number in the block, which has another number of threads. */
void access_check_threads(lua_State *L, CtLayout thr, CtInt index);

/* An atom object, or the atom of a tiled MMA, tiled copy or a thread's slice of one; NULL: the value is
   none of these. *dtype: of a copy's elements, CT_VOID if nobody said it. Good while the value is on
   the stack. */
const CtAtom *bind_test_atom(lua_State *L, int idx, CtDtype *dtype);

/* The element of an mbarrier in an argument, full[i], or an mbarrier that is one alone: its buffer in the IR
   of the running trace, and which it is (an i32). */
void bind_to_mbarrier(lua_State *L, int idx, const char *op, uint32_t *buf, CtVal *slot);

/* Each adds its functions to the module table at `module` and its methods to the table at
   `methods`. */
void bind_add_partition(lua_State *L, int module, int methods);
void bind_add_lifted(lua_State *L, int module, int methods);

#endif
