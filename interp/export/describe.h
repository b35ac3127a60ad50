/* describe.h: one launch as data: what a program without Lua needs to launch the same kernel. The tables that
   these functions push are read by stdlib/export, which writes them as C. */
#ifndef CUTTLE_DESCRIBE_H
#define CUTTLE_DESCRIBE_H

#include "interp/launch/launch.h"

/* A compute capability to compile for. */
typedef struct ExportTarget {
  int sm;        /* 90 */
  char arch[16]; /* NVRTC's name of it: "sm_90a" */
  bool wants_ptx;
} ExportTarget;

/* Pushes a list of the arguments, each a table:
     kind   "tensor", "number", "constant", "object", "list", "record"
     title  "saxpy: argument 2 (x)"; place: 2; slot: number of its first slot, from 0
   of a tensor: dtype, align (bytes), reach (the largest index of an element), most (elements), first and last (addresses of its bytes),
     address (of element 0), and
     written whether `ir`, made for them, writes it
     leaves  extents, then strides: {value =, low =, high =, divisor =, fixed = true: a constant}
   of a list: dtype, align, reach, most, written, and the leaves of a tensor, which hold for all its members; values are
     those of the first one
     members  {address =, first =, last =, leaves =} each, where leaves are constants
   of a number: dtype, bits (of the value); of a constant: dtype, bits; of an object: text, and key, the
   same for equal ones. */
void export_push_arguments(lua_State *L, int kernel, const LaunchArgs *a, const CtIr *ir);

/* Sets what those tables say of where a tensor lies, of a host's tensor whose extents and strides are constants; returns
   the addresses of its bytes. */
CtCallSpan export_set_constants(lua_State *L, const Tensor *t);

/* Sets the field `name` of each table of a tensor or of a list's member, in the list at idx, to the bytes that it
   spans. A tensor of more than `most` bytes gets none. Its memory is the host's. */
void export_set_bytes(lua_State *L, int idx, const LaunchArgs *a, const char *name, size_t most);

/* Pushes what a target needs, or {why = TEXT} if the kernel does not compile for it:
     symbol, image, ptx    the entry point; a cubin; PTX for later devices, "" if there is none
     text                  the CUDA C
     smem                  bytes of dynamic shared memory
     packs                 {slot, offset, bytes} of each parameter, in order; bytes: of the whole block
     maps                  tensor maps, at maps_at: name, dtype, slot, swizzle, promotion, offset, and dims
                           {extent =, stride =, div =, mul =, box =}; texts are expressions of C
     requires              {expression =, modulus =, op =, mode =, name =, divisor =, line =}
     asserts               {text =, line =}: their record's address is the parameter at fault_at
     grid_at               place of the address of the word of sync_grid; -1: none
     waits                 it has grid_dependency_wait */
void export_push_code(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      const ExportTarget *target);

/* expression.c: appends a value that depends on the arguments only as an expression of C: slot n is s[n]. Uses
   NAME_floordiv, NAME_floormod, NAME_min and NAME_max. */
CtStatus export_expression(const CtIr *ir, CtVal v, CtText *out, CtErr *err) CT_NODISCARD;

#endif
