/* state_compile.c: CUDA C to code, for a state: whether it may, with which cache, and whether the
   environment says which compiler.

   NVRTC runs in the host's process: it keeps to no limit of memory, no interrupt reaches it, its options
   name files to write and its #include files to read. So a sandboxed script gives it no text and no option
   of its own, and a sandbox on the CPU engine, which has no need of it, never loads it, unless the program opened
   it in a process that limits its time and memory: `cuttle mcp`. */
#include <string.h>

#include "runtime/base/env.h"
#include "state.h"

/* The CPU engine, or virtual devices of it. */
static bool is_cpu(const char *text) {
  return strcmp(text, "cpu") == 0 || strncmp(text, "cpu:", 4) == 0;
}

bool state_is_cpu_only(const CuttleState *s) {
  return s->options.sandbox != 0 && is_cpu(s->given_device);
}

/* "auto" may have found no device. */
static bool has_cuda(const CuttleState *s) {
  for (int i = 0; i < STATE_MAX_DEVICES; i++) {
    if (s->cuda[i] != NULL) {
      return true;
    }
  }
  return false;
}

CtStatus state_check_device(const CuttleState *s, const char *text, CtErr *err) {
  bool may = s->options.sandbox == 0 || is_cpu(text) || strcmp(text, s->given_device) == 0;
  return may ? CT_OK
             : ct_fail(err, CT_EINVAL,
                       "device: '%.40s' is not what the host gave this sandbox; '%s' or 'cpu' was "
                       "expected",
                       text, s->given_device);
}

CtStatus state_compile(CuttleState *s, const CtNvrtcJob *job, bool is_cached, CtNvrtcOutput *out,
                       CtErr *err) {
  CtCache cache;
  if (s->options.sandbox != 0 && !s->emit.is_limited && !has_cuda(s)) {
    return ct_fail(err, CT_EINVAL,
                   "%s: a sandbox on the CPU engine compiles no CUDA C: NVRTC's "
                   "time and memory have no limit; launch the kernel, or look at its source",
                   job->name);
  }
  bool before = ct_env_ignore(s->options.no_environment != 0);
  CtStatus status = ct_cache_init(&cache, err);
  if (status == CT_OK) {
    status = ct_nvrtc_build(job, is_cached ? &cache : NULL, out, err);
  }
  (void)ct_env_ignore(before);
  return status;
}
