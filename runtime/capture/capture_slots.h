/* capture_slots.h: a launch as a program without this library writes it: exported C, which knows the values that
   it passes and the IR's bytes, and nothing else. ct_capture_read takes such files too. All numbers are 64 bits,
   little-endian:
     "CUTTLESL"            8 bytes
     version               2
     ir_bytes, n_slots
     grid x, y, z
     flags                 1: pdl, 2: cooperative, 4: deterministic
     shared_bytes          dynamic, beside the kernel's own
     device_bytes          of the device's name
     has_data              0 or 1
     slots                 n_slots values, in the order of CtIr.slots; of an integer its sign extended, of a float
                           its bits in the low ones, of a pointer its address
     bytes                 n_slots numbers: of a pointer how many bytes lie there, else 0
     the device's name; the IR's bytes; with data, the bytes of the pointers in the order of their slots
     sum                   of all bytes before it: FNV-1a of 64 bits */
#ifndef CT_CAPTURE_SLOTS_H
#define CT_CAPTURE_SLOTS_H

#include "capture.h"

bool ct_capture_is_slots(const void *bytes, size_t n);
CtStatus ct_capture_check_slots(const void *bytes, size_t n,
                                CtErr *err) CT_NODISCARD; /* the header */
/* As ct_capture_read, of what is checked, without the sum; the IR is read. A kernel with a list of tensors is refused. */
CtStatus ct_capture_read_slots(CtArena *a, const void *bytes, size_t n, CtCapture *out,
                               CtErr *err) CT_NODISCARD;

#endif
