/* ptx_line.h: the lines that PTX text names. After `.loc FILE LINE COLUMN, function_name F, inlined_at FILE LINE
   COLUMN` comes code of a function that was inlined at a place which an earlier `.loc` has named. */
#ifndef CT_PTX_LINE_H
#define CT_PTX_LINE_H

#include "runtime/base/text.h"

/* Appends the text, in which code of inlined functions has the place of the outermost call: tools that read no
   more than FILE and LINE name a line of the script. */
CtStatus ct_ptx_outer_lines(const char *ptx, CtText *out, CtErr *err) CT_NODISCARD;

#endif
