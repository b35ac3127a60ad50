/* launch_key.h: what the key of an argument says, for launch_spec.c, which makes the IR agree with it. */
#ifndef CUTTLE_LAUNCH_KEY_H
#define CUTTLE_LAUNCH_KEY_H

#include <string.h>

#include "launch.h"

CtDtype launch_index_type(const Arg *arg); /* i32 where the tensor spans < 2^31 bytes */
/* Is a number of the tensor's shape or stride a value of the launch? `leaf`: its place among them. */
bool launch_is_slot(const Kernel *k, const Tensor *t, bool is_extent, int leaf, int64_t v);
/* Has it been marked as a constant of kernels? */
bool launch_is_fixed(const Tensor *t, bool is_extent, int leaf);
/* What the trace takes for granted of the extents and then of the strides; returns how many there are. */
int launch_terms(const Kernel *k, const Tensor *t, CtTerm *out);

/* {====== The key ====== */

static inline void launch_put(LaunchKey *key, const void *data, size_t bytes) {
  if (key->len + bytes <= key->cap) {
    memcpy(key->bytes + key->len, data, bytes);
  }
  key->len += bytes;
}

static inline bool launch_key_is(const LaunchKey *a, const LaunchKey *b) {
  return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* `who` wants to keep the arguments. Raises if the host lends its memory for one launch only. */
void launch_check_kept(lua_State *L, const LaunchArgs *a, const char *who);

/* {====== What the function captured (launch_reads.c) ====== */

enum { LAUNCH_CAPTURE_BYTES = 1 + sizeof(size_t) + 32 };
/* What the key says of a captured value, the one at the top: a number, string or boolean by value, everything else
   by identity. Returns how many bytes. */
size_t launch_capture_key(lua_State *L, unsigned char out[LAUNCH_CAPTURE_BYTES]);
/* The key of all of it. What is seen is anchored with the kernel when a specialisation is made. */
void launch_put_captures(lua_State *L, int kernel, LaunchArgs *a);
/* Does the function capture what the key says? */
bool launch_has_captures(lua_State *L, int kernel, const LaunchArgs *a);

/* {====== What arguments are made of (launch_args.c) ====== */

/* Pushes what will keep larger arrays; *a has the arrays for few arguments. */
void launch_args_few(lua_State *L, LaunchArgs *a);
void launch_args_more(lua_State *L, LaunchArgs *a); /* puts larger arrays in their place */
/* Keeps the value at the top alive as long as the arguments, at a place of the anchor, and pops it. */
void launch_anchor(lua_State *L, const LaunchArgs *a, int place);
void launch_add_slot(lua_State *L, LaunchArgs *a, CtSlotValue v);
/* A parameter of the IR, whose slots follow; the number of elements of its memory. */
void launch_add_param(LaunchArgs *a, Arg *arg, int64_t n_elems);
/* "saxpy: argument 2 (x)", "adamw: argument 1 (o.grads)", as messages about an argument begin. */
const char *launch_push_title(lua_State *L, int kernel, const LaunchArgs *a, const Arg *arg);
/* That of argument i as a whole, counted from 0. */
const char *launch_push_place(lua_State *L, int kernel, int i);

/* {====== Tables as arguments (launch_table.c) ====== */

/* Reads the next argument: the value at idx; `like` says where it is. */
typedef void (*LaunchReader)(lua_State *L, int kernel, LaunchArgs *a, Arg like, int idx);
/* The table at idx as a list, or as a record with its fields, by `read`; false: it is no table. */
bool launch_read_table(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx,
                       LaunchReader read);
/* Pushes the name of the table's next field in alphabetical order, after the one at `last` (nil: the first);
   false: there is none, and nothing is pushed. */
bool launch_push_next_name(lua_State *L, int idx, int last);

/* Pushes the value that the argument was read from. */
void launch_push_given(lua_State *L, const LaunchArgs *a, const Arg *arg);

/* {====== Copies of arguments (bind_clone.c) ====== */

/* Pushes the argument at idx, a table as a copy with its metatable, and for each tensor what push_tensor pushes: */
typedef void LaunchPushTensor(lua_State *L, int idx, const void *ud);
void launch_push_copy(lua_State *L, int idx, LaunchPushTensor *push_tensor, const void *ud);
/* another one with the same memory, which stays if the script closes its own. */
void launch_push_tensor(lua_State *L, int idx, const void *ud);
/* Pushes the n arguments from stack place `args` on as copies, whose tensors are in the host's memory. Tensors that share
   memory share the copy. */
void launch_push_copies(lua_State *L, int args, int n);

/* {====== Constants as arguments (launch_object.c) ====== */

/* The value at idx: a layout, a tuple, a tiled copy and the like; false: it is none of these. */
bool launch_read_object(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx);
/* Pushes the OBJECTs among the arguments and their texts, or nil, for the trace; a->objects is where. */
void launch_push_objects(lua_State *L, LaunchArgs *a);
/* From what it pushed, now at `objects`, of argument i: pushes the value, a table as a copy; its text in one line,
   alive as long as that. */
void launch_push_object(lua_State *L, int objects, int i);
const char *launch_object_text(lua_State *L, int objects, int i);
/* Pushes the text of such a value, in one line. */
void launch_push_object_text(lua_State *L, int idx);
/* Is the value at idx equal to the one that the argument was read from? */
bool launch_object_is(lua_State *L, const LaunchArgs *a, const Arg *arg, int idx);

/* {====== Tensors ====== */

/* Finds what a launch needs of a tensor of the host: lo, hi, is_wide. */
CtStatus launch_measure(Tensor *t, CtErr *err) CT_NODISCARD;
/* The same; false: it reaches before its first element. Raises. */
bool launch_check_measure(lua_State *L, Tensor *t);

/* Where the memory of a kernel's tensor ends that would reach to `end`: a division that rounds up leads past
   what there is. A lender has said how much that is. */
uint64_t launch_end_of(const Tensor *t, uint64_t end);
uint64_t launch_address(const Tensor *t); /* of its element 0 */
/* Where a measured tensor lies: address and span of an argument. */
void launch_place(const Tensor *t, Arg *out);

#endif
