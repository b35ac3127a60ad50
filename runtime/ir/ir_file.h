/* ir_file.h: an IR as bytes, for files and for programs that carry a kernel.

   The bytes are the same on every machine: little-endian, without addresses, the same for the same IR.
   They begin with a version, and with a fingerprint of the operations, the element types and the fields
   that this library writes: what another version wrote is refused by name. They are as much to be
   trusted as a program is: an IR may hold CUDA C of its script. */
#ifndef CT_IR_FILE_H
#define CT_IR_FILE_H

#include "ir.h"

enum { CT_IR_FILE_VERSION = 2 };

/* Appends the bytes of a finished IR, with the functions that it calls. They hold NULs. */
CtStatus ct_ir_write(const CtIr *ir, CtText *out, CtErr *err) CT_NODISCARD;

/* Reads n bytes, all of them, into an IR that need not be initialised. Every number is held against its
   bounds. The verifier (ct_ir_check) has seen the IR, the builder's functions have made its operations on whole
   tensors again, and passes have dropped what nothing needs: it is a kernel that a script could have.
   ct_ir_read_clear frees it; after a failure there is nothing to free. */
CtStatus ct_ir_read(CtAlloc alloc, const void *bytes, size_t n, CtIr *ir, CtErr *err) CT_NODISCARD;
/* The same of a file that may come from anybody and is run for its messages: none of its texts does more to a
   terminal than show (ct_text_disarm, ct_message_disarm). */
CtStatus ct_ir_read_shown(CtAlloc alloc, const void *bytes, size_t n, CtIr *ir,
                          CtErr *err) CT_NODISCARD;
void ct_ir_read_clear(CtIr *ir); /* with the functions that it calls */

#endif
