/* nvrtc.h: CUDA C text in, cubin or PTX out, in this process, through NVRTC; with a disk cache in
   front (cache.h). NVRTC is loaded by the first compile and never by a cache hit. */
#ifndef CT_NVRTC_H
#define CT_NVRTC_H

#include "cache.h"

typedef struct CtNvrtcJob {
  CtAlloc alloc;
  const char *source;         /* self-contained CUDA C: there are no include directories */
  const char *name;           /* the kernel, as messages call it */
  const char *arch;           /* "sm_90a", see ct_nvrtc_arch */
  const char *const *options; /* extra ones, after our own; may be NULL */
  int n_options;
  bool
      no_lines; /* without -lineinfo: the image names no folder, so the same text gives the same bytes */
  bool ptx; /* ask for PTX text (NUL-terminated) instead of a cubin */
} CtNvrtcJob;

typedef struct CtNvrtcOutput {
  CtText image; /* .s and .len: the cubin, or the PTX text */
  CtText log;   /* warnings; "" when there were none */
  bool from_cache;
} CtNvrtcOutput;

void ct_nvrtc_output_clear(CtNvrtcOutput *out);

/* Compiles with -arch, -std=c++17, -lineinfo (unless no_lines), -fmad=false, -default-device and the job's options.
   *out is set on success only; the caller clears it.
   Errors: CT_EDEVICE `nvrtc: kernel 'matmul': identifier "x" is undefined (2 errors; NVRTC 13.0,
   sm_90a)`, located at the script line that the log names (#line makes it speak of the script);
   CT_EINVAL for an option or architecture that NVRTC refuses; CT_EMISSING without NVRTC. An error
   of the assembler is traced back to the script through the PTX's .loc lines. */
CtStatus ct_nvrtc_compile(const CtNvrtcJob *job, CtNvrtcOutput *out, CtErr *err) CT_NODISCARD;

/* The same through the disk cache: the key is the hash of source, options, architecture and the
   NVRTC library's identity. `cache` may be NULL: no cache. A cache that cannot be written is no
   error. */
CtStatus ct_nvrtc_build(const CtNvrtcJob *job, const CtCache *cache, CtNvrtcOutput *out,
                        CtErr *err) CT_NODISCARD;

/* The hash of all that the machine code depends on, in hexadecimal: the source, for which #line does not count, the
   name, the options, the architecture and NVRTC's version. Two jobs with one hash give the same code.
   Errors: as ct_nvrtc_compile, but for those of a text. */
enum { CT_NVRTC_KEY_BYTES = 33 };
CtStatus ct_nvrtc_code_key(const CtNvrtcJob *job, char out[CT_NVRTC_KEY_BYTES],
                           CtErr *err) CT_NODISCARD;

/* NVRTC's name for the target of compute capability `sm` (90 for 9.0): "sm_90a" from 90 on, where
   the architecture-specific features are, "sm_80" before. */
void ct_nvrtc_arch(int sm, char out[16]);

/* Which NVRTC a compile would use: the newest that the driver accepts, or CUTTLE_NVRTC. Loads none,
   except one that only the dynamic linker can find. */
typedef struct CtNvrtcId {
  char path[1024];  /* of the file; where none is found, the name the dynamic linker knows */
  uint64_t size;    /* of the file in bytes; else the version, 13000 for 13.0 */
  int64_t mtime_ns; /* of the file; else 0 */
} CtNvrtcId;
CtStatus ct_nvrtc_identity(CtNvrtcId *id, CtErr *err) CT_NODISCARD;

/* Version, and the compute capabilities (75, 80, ...) that it compiles for; these load NVRTC. */
CtStatus ct_nvrtc_version(int *major, int *minor, CtErr *err) CT_NODISCARD;
CtStatus ct_nvrtc_archs(int *sms, int cap, int *n, CtErr *err) CT_NODISCARD;

/* Reads a capability as people write it, "90" or "90a": times 10, and what NVRTC calls it. Returns the suffix, "" if
   there is none; NULL: it is no such text. */
const char *ct_nvrtc_read_arch(const char *text, int *sm, char arch[16]);

/* Whether there is the compute capability sm / 10, with the suffix 'a' or 'f', or '\0' for none: CT_EINVAL
   with those that there are. Loads NVRTC for one that was not known when this was written. */
CtStatus ct_nvrtc_check_arch(int sm, char suffix, CtErr *err) CT_NODISCARD;

#endif
