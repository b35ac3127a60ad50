/* spec_twin.h: images of kernels whose CUDA C differs by the kernel's name alone. */
#ifndef CUTTLE_SPEC_TWIN_H
#define CUTTLE_SPEC_TWIN_H

#include "interp/state/state.h"
#include "runtime/device/nvrtc.h"
#include "runtime/emit/emit_cuda.h"

/* Of a job whose source has a kernel of that symbol: the same for twins. */
CtHashKey spec_twin_key(const CtNvrtcJob *job, const char *symbol);
/* The image of a twin, which the caller clears, and the symbol of the kernel in it. False: there is none. */
bool spec_twin_find(const CuttleState *s, CtHashKey key, char symbol[CT_EMIT_NAME_MAX],
                    CtNvrtcOutput *out);
/* Without memory for it, nothing is kept. */
void spec_twin_keep(CuttleState *s, CtHashKey key, const char symbol[CT_EMIT_NAME_MAX],
                    const CtNvrtcOutput *made);

#endif
