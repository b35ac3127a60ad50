/* nvrtc_pool.h: many texts compiled at once, by as many processes or threads as there are processors, into the disk cache. */
#ifndef CT_NVRTC_POOL_H
#define CT_NVRTC_POOL_H

#include "nvrtc.h"

/* Is told by the calling thread how many are done, every few milliseconds. False: begin no more. */
typedef bool CtNvrtcPoll(void *ud, size_t n_done);

/* Builds the jobs by ct_nvrtc_build, equal ones once, as many at once as the machine has processors. Their images
   are in the cache then; what does not compile is not, and says so when it is built alone. may_fork: processes do it,
   not threads; only where nobody else has threads. The jobs' own `alloc` is not used. Returns when all that began are done, or have failed with their process; how many were done. */
size_t ct_nvrtc_build_all(const CtNvrtcJob *jobs, size_t n, const CtCache *cache, bool may_fork,
                          CtNvrtcPoll *poll, void *ud);

#endif
