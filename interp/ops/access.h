/* access.h: the tensors of a kernel in the running trace: the view in an argument, an element at a
   coordinate, and the requirements on each launch. All functions raise. */
#ifndef CUTTLE_ACCESS_H
#define CUTTLE_ACCESS_H

#include "interp/tensor/tensor.h"
#include <lua.h>
#include "runtime/ir/ir_data.h"

/* The tensor in an argument, which must be one of the running trace, with memory. */
CtView access_view(lua_State *L, int idx, const char *op);
/* A coordinate in t, wide enough for arithmetic with its layout: if indices of the kernel's tensor
   need 64 bits, so do its run-time entries. */
CtTuple access_coordinate(lua_State *L, const Tensor *t, CtTuple crd);
/* The offset of the element at `crd`, for a message that begins with `verb`. A static one must lie in
   the memory that the kernel declared. */
CtVal access_offset(lua_State *L, const Tensor *t, CtTuple crd, const char *verb);
/* Pushes the traced value of the element at `crd` (no `_` in it; leaves may be dynamic). */
void access_load(lua_State *L, const Tensor *t, CtTuple crd);
/* Stores the Lua value at `value_idx`: a traced value, number or boolean. */
void access_store(lua_State *L, const Tensor *t, CtTuple crd, int value_idx);

/* The layout of memory that a kernel declares: static, with indices from 0. *n_elems is their number. */
CtComposed access_static_layout(lua_State *L, int idx, const CtCx *cx, const char *op,
                                int64_t *n_elems);
/* Pushes the tensor of memory that was declared. */
Tensor *access_push_declared(lua_State *L, CtIr *ir, CtView view);

/* An extent must fulfil it: now, if it is static, else each launch checks it. This function fills r.value. */
void access_require(lua_State *L, CtInt extent, CtRequire r);
/* Has arithmetic with its coordinates 64 bits? */
bool access_is_wide(lua_State *L, const Tensor *t);
/* The thread layout `thr` is about to divide work, and the thread takes part `index`. Raises if
   `index` is the thread's own number in a block that has another number of threads. */
void access_check_threads(lua_State *L, CtLayout thr, CtInt index);

/* An atom object, or the atom of a tiled MMA, a tiled copy, or a thread's slice of one; NULL: the
   value is none of these. *dtype: the type of a copy's elements; CT_VOID if the script did not give
   it. Valid while the value is on the stack. */
const CtAtom *bind_test_atom(lua_State *L, int idx, CtDtype *dtype);

/* The mbarrier in an argument: an element such as full[i], or a single mbarrier. Gives its buffer
   in the IR of the running trace, and its number there (an i32). */
void bind_to_mbarrier(lua_State *L, int idx, const char *op, uint32_t *buf, CtVal *slot);
/* The value of an option `multicast`: blocks of the cluster, by bits (an i32); 0: it is nil. */
CtVal bind_to_multicast(lua_State *L, int idx, const char *op);
bool bind_is_mbarrier(lua_State *L, int idx); /* or several */
/* The block's own shared tensor in an argument, whose place in another block gets something; the rank of that block in
   the launch's clusters (an i32). */
const Tensor *bind_to_receiver(lua_State *L, int idx, const CtIr *ir, const char *op);
CtVal bind_to_rank(lua_State *L, int idx, const CtIr *ir, const char *op);

/* Each adds its functions to the module table at `module` and its methods to the table at
   `methods`. */
void bind_add_partition(lua_State *L, int module, int methods);
void bind_add_lifted(lua_State *L, int module, int methods);
void bind_add_moves(lua_State *L, int module, int methods);

/* traced.c: functions on tensors while a kernel is traced. Those that return an int expect the
   stack that Lua gives the function, and return the number of results. All raise. */

/* The copy atom in an argument, which may be a tiled copy, and the type of its elements. */
const CtAtom *traced_copy_atom(lua_State *L, int idx, const char *op, CtDtype *dtype);
int traced_recast(lua_State *L, const Tensor *t, CtDtype to);
int traced_cast(lua_State *L, CtDtype to); /* of the tensor in argument 1; bind_block.c */
int traced_copy(lua_State *L);
int traced_fill(lua_State *L);
int traced_clear(lua_State *L);

/* cache_hint.c: hints for caches as scripts write them. Both functions raise. */

/* The hint whose name is at idx; `op` begins the messages. */
CtCacheHint cache_hint(lua_State *L, int idx, const char *op);
/* Whether the last argument of a copy is a table of options, {cache = hint}, which is taken off. */
bool cache_option(lua_State *L, CtCacheHint *out);

#endif
