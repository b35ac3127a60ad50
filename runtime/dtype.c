/* dtype.c: the table of element types. */
#include "dtype.h"

#include <string.h>

const CtDtypeInfo ct_dtypes[CT_DTYPE_COUNT] = {
    [CT_VOID] = {"void", "void", NULL, 0, CT_CLASS_NONE},
#define X(name, bits, class, cuda, ctype, npy)                                                     \
  [CT_##name] = {#name, cuda, npy, bits, CT_CLASS_##class},
#include "dtypes.def"
#undef X
};

CtDtype ct_dtype_from_name(const char *name) {
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    if (strcmp(ct_dtypes[t].name, name) == 0) {
      return (CtDtype)t;
    }
  }
  return CT_VOID;
}
