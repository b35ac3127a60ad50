/* nvrtc_pool.h: many texts compiled at once, each by a thread of its own, into the disk cache. */
#ifndef CT_NVRTC_POOL_H
#define CT_NVRTC_POOL_H

#include "nvrtc.h"

/* Is told by the calling thread how many are done, every few milliseconds. False: begin no more. */
typedef bool CtNvrtcPoll(void *ud, size_t n_done);

/* Builds the jobs by ct_nvrtc_build, as many at once as the machine has processors. Their images are in the
   cache then; what does not compile is not, and says so when it is built alone. The jobs' own `alloc` is not
   used: it need not serve threads. Returns when all that began are done; how many those were. */
size_t ct_nvrtc_build_all(const CtNvrtcJob *jobs, size_t n, const CtCache *cache, CtNvrtcPoll *poll,
                          void *ud);

#endif
