/* tensor.h: tensors as Lua sees them: an element type, a layout, an offset and the memory that they
   look at. A host tensor owns a reference to a CtStorage (on the host or on a device); a kernel
   tensor names a buffer of the IR that is being traced. One userdata type serves both, so that what
   only changes the layout (tile, parallelize, slices, divides) is the same code for both.

   tensor.c makes tensors, tensor_data.c reaches their elements, tensor_print.c writes them as text;
   the functions of the language are in bind_tensor.c (indexing, fields), bind_create.c, bind_npy.c,
   bind_partition.c and bind_reference.c. */
#ifndef CUTTLE_TENSOR_H
#define CUTTLE_TENSOR_H

#include <lua.h>

#include "interp/state/types.h"
#include "runtime/ir/ir.h"
#include "runtime/device/storage.h"

/* A value of any element type. Floats are in f, integers and bools in i: an array of them is one of
   doubles or of 64-bit integers. */
typedef union Elem {
  double f;
  int64_t i;
} Elem;

enum { TENSOR_MAX_FIXED = 64 }; /* bits of Tensor.fixed */

typedef struct Tensor {
  CtDtype dtype;
  CtSpace space; /* CT_GLOBAL on the host */
  bool in_kernel;
  bool is_guarded; /* kernel: tiles may overhang, see guard(t) */
  bool is_whole;   /* of a guarded one: not tiled yet; coordinates may lie outside its shape */
  bool is_closed;  /* host: the storage was given up */
  bool is_shown;   /* of a C host: a script may hold it */
  /* host: extents that are constants of kernels, a bit for each (static_mode); or all extents and
     strides are */
  bool is_fixed;
  uint64_t fixed;
  uint64_t id;       /* counts the tensors of the state: tells a new one at an old address */
  CtLayout layout;   /* its nodes lie after this struct, in the same userdata */
  CtInt offset;      /* elements from the start of the storage or buffer; static on the host */
  CtSwizzle swizzle; /* kernel: that of the buffer */
  uint32_t buf;      /* kernel: number of the IR's buffer */
  uint32_t serial;   /* kernel: number of the trace that it belongs to */
  uint32_t tma; /* of coordinates: the number of the tensor that they are of (tma_tensor), or 0 */
  CtStorage *storage;     /* one reference; NULL in a kernel and when closed */
  const CtGuard *guard;   /* kernel: what it may overhang, or NULL; after the layout's nodes */
  const CtWithin *within; /* kernel: coordinates that cut it out, in traces that are checked */
  CtTuple at; /* of a tensor of coordinates: that of its first element; NULL of one with memory */
  const char *name; /* of the argument or local, for messages, or NULL; anchored in user value 1 */
  /* What a launch needs of a tensor, which never changes, found at its first launch (launch_key.c). */
  int64_t lo, hi;  /* smallest and largest index of the layout; 0, -1 when empty */
  bool is_wide;    /* an index or extent needs 64 bits */
  uint8_t key_len; /* 0: not found yet */
  uint8_t key[63];
} Tensor;

/* NULL: it is not a tensor. Raises for one that was kept from a kernel whose trace has ended, or is used on the
   host, as tensor_check does: whoever uses a tensor has it from one of the two. */
Tensor *tensor_test(lua_State *L, int idx);
Tensor *tensor_check(lua_State *L, int idx, const char *op); /* raises if it is not a tensor */

struct CuttleState;

/* The same without asking which trace it belongs to: for collecting it and for messages. */
Tensor *tensor_peek(lua_State *L, int idx);
Tensor *tensor_peek_in(lua_State *L, const struct CuttleState *s, int idx); /* whose state is s */

/* Each pushes one new tensor; raises only for want of memory. The layout is copied. */

/* A host tensor without memory: the caller puts a storage in its place, or drops it. */
Tensor *tensor_push_new(lua_State *L, CtDtype dtype, CtLayout layout, CtInt offset);
/* Takes a reference of its own to `storage`. Every index of the layout from `offset` on must lie in
   it. */
Tensor *tensor_push_host(lua_State *L, CtDtype dtype, CtLayout layout, CtInt offset,
                         CtStorage *storage);
/* `view.name` is copied (may be NULL); dtype and space are those of the view's buffer. */
Tensor *tensor_push_kernel(lua_State *L, CtDtype dtype, CtSpace space, CtView view,
                           uint32_t serial);
/* Another tensor of the same memory, with the name of `of`, which must be on the stack. guard (copied):
   what the part may overhang, of a guarded tensor; NULL: nothing. */
Tensor *tensor_push_part(lua_State *L, const Tensor *of, CtLayout layout, CtInt offset,
                         const CtGuard *guard);

/* A tensor without memory, whose elements are coordinates: at + layout(...), with basis strides. `of`: that
   it is a part of, or NULL. */
Tensor *tensor_push_coords(lua_State *L, const Tensor *of, CtLayout layout, CtTuple at);

/* With the swizzle and offset of a swizzled tensor. */
CtComposed tensor_layout(const Tensor *t);
/* The layout of the tensor at idx as a Lua value. keep: the layout on top of the stack is that object
   [-1, +0]; it remembers how the tensor came about, for explanations. */
void tensor_push_layout(lua_State *L, int idx);
void tensor_keep_layout(lua_State *L, int idx);

/* The tensor at idx is a tile: the one of the tensor at `whole` whose last coordinate is at that place. push_whole:
   pushes both; or nothing that counts, and returns 0. */
void tensor_keep_whole(lua_State *L, int idx, int whole, int coordinate);
int tensor_push_whole(lua_State *L, int idx);

/* Its memory was made or lent now: what launches did there before does not concern it. */
void tensor_is_new(lua_State *L, const Tensor *t);
/* Its memory is new, and nobody has written it: check reports who reads it. */
void tensor_is_blank(lua_State *L, const Tensor *t);

/* Gives up the memory, now rather than when the tensor is collected. Nothing happens the second
   time. */
void tensor_close(lua_State *L, Tensor *t);

/* The same where somebody asked for it. As much new memory makes the collector no work: it would look for tensors
   that nobody uses any more, and a script that closes its own leaves none. */
void tensor_give_back(lua_State *L, Tensor *t);

/* Names the tensor at idx; a later name replaces an earlier one. */
void tensor_set_name(lua_State *L, int idx, const char *name);

/* What messages call the tensor at idx: its name, or that of a local, upvalue or global of the
   calling Lua function that holds it, or "the tensor". Pushes the text and returns it. */
const char *tensor_push_title(lua_State *L, int idx);

/* The same with another word for a tensor without a name: "the source" beside "the destination". */
const char *tensor_push_role(lua_State *L, int idx, const char *role);

/* A kernel tensor as the IR sees it. Borrows the layout: alive as long as the tensor is. */
static inline CtView tensor_view(const Tensor *t) {
  return (CtView){.buf = t->buf,
                  .offset = t->offset,
                  .layout = t->layout,
                  .name = t->name,
                  .guard = t->guard,
                  .within = t->within};
}

/* --- host tensors: one element (tensor_element.c) ----------------------------------------------- */

/* Of the tensor at 1, the element at a coordinate of n integers, or at one integer or table of them, from idx on:
   pushes it, or stores the value at `value`. False, and nothing is done, where this is not the plain case: a
   tensor in the host's memory, numbers inside its shape, a value of its type. */
bool tensor_get_plain(lua_State *L, int idx, int n);
bool tensor_set_plain(lua_State *L, int idx, int value);

/* Counts an access by the host to one element. Of many on a device it warns once: each is a transfer. */
void tensor_note_remote(lua_State *L, const Tensor *t);

/* --- host tensors: the memory (tensor_data.c) ------------------------------------------------- */

/* The storage is there to be used: neither closed nor lost with its device. The message goes on
   after the tensor's title: "is closed; ...". */
CtStatus tensor_live(const Tensor *t, CtErr *err) CT_NODISCARD;

/* Of the shape of a host tensor, whose size is known and fits. */
static inline int64_t tensor_size_of(CtTuple shape) {
  CtInt n;
  CtCx none = {NULL, NULL};
  return ct_product(&none, shape, &n, NULL) == CT_OK ? n.v : 0;
}

/* All elements in linear (colexicographic) order to or from a dense array of size(t) elements. The
   tensor is live. */
CtStatus tensor_gather(const Tensor *t, void *dst, CtErr *err) CT_NODISCARD;
CtStatus tensor_scatter(const Tensor *t, const void *src, CtErr *err) CT_NODISCARD;

/* The same elements to look at only: in place where they lie dense on the host, else as a copy. */
typedef struct Dense {
  const void *p;
  int64_t n;    /* elements */
  void *copy;   /* or NULL */
  size_t bytes; /* of the copy */
  CtAlloc alloc;
} Dense;
CtStatus dense_open(Dense *d, const Tensor *t, CtErr *err) CT_NODISCARD;
void dense_close(Dense *d);

/* Fills a tensor: `fn` writes its n elements, in linear order, to a dense array; it never raises.
   */
typedef CtStatus (*TensorFill)(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err);
CtStatus tensor_generate(const Tensor *t, TensorFill fn, void *ud, CtErr *err) CT_NODISCARD;

/* Room for the elements of n tensors and for one more, to be freed with `bytes`. NULL: there is none. */
Elem *tensor_new_elems(CtAlloc alloc, const int64_t *sizes, int n, size_t *bytes);

/* All elements in linear order to or from an array of size(t) of them. The tensor is live. */
CtStatus tensor_load(const Tensor *t, Elem *out, CtErr *err) CT_NODISCARD;
CtStatus tensor_store(const Tensor *t, Elem *from, CtErr *err) CT_NODISCARD;

/* Whether the element at `index`, counted from the tensor's offset, lies in the storage. Divisions that round up
   lead past its end. */
static inline bool tensor_has_element(const Tensor *t, int64_t index) {
  int64_t at;
  return !ct_add_overflow(t->offset.v, index, &at) && at >= 0 &&
         at < ct_dtype_count(t->dtype, (int64_t)t->storage->bytes);
}

/* The byte of the storage in which the element at `index` begins, which may be another's too. */
static inline size_t tensor_byte(const Tensor *t, int64_t index) {
  return (size_t)ct_dtype_byte(t->dtype, t->offset.v + index);
}
/* Does it begin with a byte of its own? What has an address must. */
static inline bool tensor_begins_at_byte(const Tensor *t) {
  return !ct_dtype_is_packed(t->dtype) || t->offset.v % 2 == 0;
}

/* The element at `index`, for which tensor_has_element holds. */
CtStatus tensor_get(const Tensor *t, int64_t index, Elem *out, CtErr *err) CT_NODISCARD;
CtStatus tensor_set(const Tensor *t, int64_t index, Elem e, CtErr *err) CT_NODISCARD;

/* A part of another rank than this one, whose function m:run runs now; -1: none runs. */
static inline bool tensor_is_foreign(const Tensor *t, int rank) {
  return rank >= 0 && t->storage->rank >= 0 && t->storage->rank != rank;
}

/* --- elements --------------------------------------------------------------------------------- */

Elem elem_load(CtDtype dtype, const void *p);        /* p may be unaligned */
void elem_store(CtDtype dtype, void *p, Elem e);     /* rounds f32; the integer fits */
void elem_push(lua_State *L, CtDtype dtype, Elem e); /* number, integer or boolean */
/* The Lua value at idx as an element: a float takes any number, an integer one with an integral
   value in range, a bool a boolean. Messages begin with `op`, if it is not NULL. */
CtStatus elem_from_lua(lua_State *L, int idx, CtDtype dtype, const char *op, Elem *out,
                       CtErr *err) CT_NODISCARD;

/* --- text (tensor_print.c) -------------------------------------------------------------------- */

/* Pushes "tensor f32 (4,8):(1,4) on cpu" with the elements below, elided when there are many; of a kernel tensor
   one line. */
void tensor_push_text(lua_State *L, int idx);

/* --- in traces that are checked (tensor_within.c); each may raise ----------------------------- */

/* Before an access to the element at `crd`; of the part of `of` at a
   coordinate with `_`; of a part that exists for coordinates below the extent only. */
void tensor_within_element(lua_State *L, const Tensor *t, CtTuple crd);
void tensor_within_slice(lua_State *L, const Tensor *of, CtTuple crd, Tensor *part);
void tensor_within_part(lua_State *L, Tensor *part, CtInt crd, CtInt extent, const char *what);

/* --- the functions of the language ------------------------------------------------------------ */

/* Arguments; `op` is the function's name, or NULL for an access to elements. _live raises for a
   host tensor that is closed or lost, and for a kernel tensor of a trace that has ended; _host also
   for any kernel tensor. */
Tensor *tensor_check_live(lua_State *L, int idx, const char *op);
Tensor *tensor_check_host(lua_State *L, int idx, const char *op);
/* The same for what a graph records too: copies between tensors, fills, views. */
Tensor *tensor_check_recordable(lua_State *L, int idx, const char *op);
void tensor_check_memory(lua_State *L, int idx, const char *op); /* not one of coordinates */

/* Pushes a host tensor with new memory on `device` (NULL: the host); elements undefined. Raises. */
Tensor *tensor_push_alloc(lua_State *L, const char *op, CtDtype dtype, CtLayout layout,
                          CtDevice *device);
/* The same, in memory that other processes can open. */
Tensor *tensor_push_shared(lua_State *L, const char *op, CtDtype dtype, CtLayout layout,
                           CtDevice *device);
/* The table of numbers at 2 as dense elements, in the arena of cx; the layout at 3, which it must fit, or
   that of the table. `op` begins messages. */
void *tensor_read_table(lua_State *L, const char *op, CtDtype dtype, const CtCx *cx,
                        CtLayout *layout);
/* As tensor_push_alloc, on the current device. */
Tensor *tensor_push_here(lua_State *L, const char *op, CtDtype dtype, CtLayout layout);

#endif
