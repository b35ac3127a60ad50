/* ct.h: the core for programs without Lua: layouts, the IR and its two engines, NVRTC and devices.
   C11, or C++ from C++11 on. It lists the core's public headers in the order of their dependencies;
   each header describes what it offers. The other headers of this folder are internal and may
   change.

   Conventions: a function that can fail returns a CtStatus and fills a CtErr, its last argument, and
   leaves its outputs as they were; nothing prints, exits or jumps. Values of the algebra live in a
   CtArena that the caller owns; an object made by an open or new function belongs to the caller. */
#ifndef CT_H
#define CT_H

#include <assert.h> /* what the headers below need, before extern "C" */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "runtime/base/arena.h"       /* memory that is freed together; the allocator */
#include "runtime/base/err.h"         /* status and message */
#include "runtime/base/text.h"        /* text that grows */
#include "runtime/base/dtype.h"       /* element types */
#include "runtime/layout/mode_name.h" /* names of modes */
#include "runtime/layout/inttuple.h"  /* nested integer tuples, static or run-time */
#include "runtime/layout/layout.h"    /* layouts and their algebra */
#include "runtime/layout/swizzle.h"   /* swizzles of indices */
#include "runtime/layout/composed.h"  /* layouts under a swizzle */
#include "runtime/ir/atom.h"          /* instructions: products and copies */
#include "runtime/ir/ir.h"            /* kernels as typed, structured programs */
#include "runtime/ir/ir_make.h"       /* the builder of such programs */
#include "runtime/ir/ir_guard.h"      /* guards: parts that overhang their tensor */
#include "runtime/ir/ir_file.h"       /* the same as bytes */
#include "runtime/emit/emit_cuda.h"   /* an IR as CUDA C */
#include "runtime/simt/simt.h"        /* the CPU engine */
#include "runtime/device/cache.h"     /* compiled kernels on disk */
#include "runtime/device/nvrtc.h"     /* CUDA C to cubin or PTX */
#include "runtime/device/device.h"    /* CUDA devices: memory, streams, events, launches */
#include "runtime/base/npy.h"         /* NumPy's files */

#ifdef __cplusplus
}
#endif

#endif
