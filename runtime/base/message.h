/* message.h: the text that a kernel's printf writes, for both engines: the CPU engine and the host, which
   reads what threads of a GPU left. */
#ifndef CT_MESSAGE_H
#define CT_MESSAGE_H

#include "dtype.h"
#include "text.h"

enum { CT_MESSAGE_ARGS = 16 };

/* Appends a text in C's format, which was checked when the kernel was traced. Each value is of one of the
   types f64, i32, u32, i64, u64 and bool and has the low bits of its word, an f64 its bits. */
void ct_message_format(CtText *out, const char *format, const uint8_t *types,
                       const uint64_t *words);

#endif
