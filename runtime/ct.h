/* ct.h: the core as a C program sees it that has no use for Lua: layouts, the IR and its two engines,
   NVRTC and devices. It is the list of the core's public headers, in order of dependence; each says
   what it offers. Other headers of this folder are the core's own and may change.

   Conventions: a function that can fail returns a CtStatus and fills a CtErr, its last argument, and
   leaves its outputs as they were; nothing prints, exits or jumps. Values of the algebra live in a
   CtArena that the caller owns; objects with an open or new belong to whoever called it. */
#ifndef CT_H
#define CT_H

#include "arena.h"     /* memory that is freed together; the allocator */
#include "err.h"       /* status and message */
#include "text.h"      /* text that grows */
#include "dtype.h"     /* element types */
#include "mode_name.h" /* names of modes */
#include "inttuple.h"  /* nested integer tuples, static or of a run time */
#include "layout.h"    /* layouts and their algebra */
#include "swizzle.h"   /* swizzles of indices */
#include "composed.h"  /* layouts under a swizzle */
#include "atom.h"      /* instructions: products and copies */
#include "ir.h"        /* kernels as typed, structured programs */
#include "emit_cuda.h" /* an IR as CUDA C */
#include "simt.h"      /* the CPU engine */
#include "cache.h"     /* compiled kernels on disk */
#include "nvrtc.h"     /* CUDA C to cubin or PTX */
#include "device.h"    /* CUDA devices: memory, streams, events, launches */
#include "npy.h"       /* NumPy's files */

#endif
