/* npy.h: NumPy's .npy files: a magic string, a version, a header that is a Python dictionary, then
   the elements. Reads formats 1.0, 2.0 and 3.0 with little-endian elements of our types in C and
   Fortran order; writes 1.0. It knows bytes and files, neither tensors nor layouts.

   Messages carry no operation and no file name when they come from ct_npy_parse; the functions on
   files put "load_npy: 'a.npy'" or "save_npy: 'a.npy'" in front. */
#ifndef CT_NPY_H
#define CT_NPY_H

#include <stdio.h>

#include "dtype.h"
#include "text.h"

enum {
  CT_NPY_MAX_RANK = 32,           /* NumPy's own limit until 2.0 */
  CT_NPY_PREFIX_BYTES = 12,       /* enough to learn the header's length; a file may be shorter */
  CT_NPY_MAX_HEADER_BYTES = 65536 /* longer ones are refused: nothing we read needs them */
};

typedef struct CtNpy {
  CtDtype dtype;
  bool fortran_order; /* the first index varies fastest */
  int rank;           /* 0: a single element */
  int64_t shape[CT_NPY_MAX_RANK];
  int64_t n_elems;
  size_t data_at;    /* bytes before the elements */
  size_t data_bytes; /* of the elements */
} CtNpy;

/* Everything before the elements; n bytes are there. */
CtStatus ct_npy_parse(const void *bytes, size_t n, CtNpy *out, CtErr *err) CT_NODISCARD;

/* Appends the header to *out, padded so that the elements begin at a multiple of 64 bytes. dtype
   must have a NumPy name. */
CtStatus ct_npy_format(const CtNpy *h, CtText *out, CtErr *err) CT_NODISCARD;

/* Opens a file and reads its header; the caller closes *file, which stands at the elements. A file
   that is too short for its elements is refused here. */
CtStatus ct_npy_open(CtAlloc alloc, const char *path, FILE **file, CtNpy *out,
                     CtErr *err) CT_NODISCARD;
/* Reads the elements, h->data_bytes bytes. */
CtStatus ct_npy_read(const char *path, FILE *file, const CtNpy *h, void *dst,
                     CtErr *err) CT_NODISCARD;
/* Writes a whole file; h's dtype, order, rank and shape count. */
CtStatus ct_npy_save(CtAlloc alloc, const char *path, const CtNpy *h, const void *src,
                     CtErr *err) CT_NODISCARD;

#endif
