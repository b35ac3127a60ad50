/* mode_name.h: the name of a mode: 1 to 10 letters, digits and underscores. It is packed into a
   number, so that it is copied and compared as a number and nobody owns it. A name does not begin
   with a digit, and is not `_`, which in texts keeps a mode. In `gpu@model` the mode gpu lies on
   axis model of a mesh; the whole is one name here. */
#ifndef CT_MODE_NAME_H
#define CT_MODE_NAME_H

#include "runtime/base/text.h"

enum { CT_MODE_NAME_MAX = 10 };

typedef uint64_t CtModeName; /* 0: no name */

/* Why a text is not a name, such as "is longer than 10 characters"; NULL: it is one. */
const char *ct_mode_name_fault(const char *s, size_t len);
CtStatus ct_mode_name_pack(const char *s, size_t len, CtModeName *out, CtErr *err) CT_NODISCARD;
/* Writes the name and a NUL; returns out. */
const char *ct_mode_name_unpack(CtModeName name, char out[CT_MODE_NAME_MAX + 1]);
void ct_mode_name_print(CtModeName name, CtText *out);
bool ct_is_name_char(char c); /* a letter, a digit, _ or @ */

#endif
