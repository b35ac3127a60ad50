/* message.h: the text that a kernel's printf writes, for both engines: the CPU engine and the host, which
   reads what threads of a GPU left. */
#ifndef CT_MESSAGE_H
#define CT_MESSAGE_H

#include "dtype.h"
#include "text.h"

enum { CT_MESSAGE_ARGS = 16 };

/* In which order the texts of a launch come: by block, and in a block by thread, then as the thread printed; or in
   a block as its threads came to print. */
typedef enum CtPrintOrder { CT_PRINT_BY_THREAD, CT_PRINT_AS_RUN } CtPrintOrder;

/* What keeps C's printf from taking the format with values of these types; NULL: nothing. A conversion is
   "%[-+ #0][width][.precision][ll]letter", with two digits at most for each number; "%%" is a percent sign. The
   types are f64 for aAeEfFgG; i32 and u32 for diuoxX and c, and i64 and u64 with "ll" for diuoxX; bool for s. */
const char *ct_message_fault(const char *format, int n, const uint8_t *types);
/* Conversions c, which print any byte, become d. */
void ct_message_disarm(char *format);

/* Appends a text in C's format, in which ct_message_fault finds nothing. Each value has the low bits of its word, an
   f64 its bits. */
void ct_message_format(CtText *out, const char *format, const uint8_t *types,
                       const uint64_t *words);

#endif
