/* simt_isa.c: the instruction sets that the CPU engine was compiled for, and their handlers. */
#include "simt_engine.h"

#include <string.h>

#if defined(__x86_64__)
#define HAS_X86_VARIANTS 1
#include <cpuid.h>
#else
#define HAS_X86_VARIANTS 0
#endif

typedef struct Isa {
  const char *name;
  const CtHandler *const *parts; /* ended by NULL */
} Isa;

#define PART(part, isa) ct_simt_##part##_##isa,
static const CtHandler *const base_parts[] = {CT_SIMT_PARTS(PART, base) NULL};
#if HAS_X86_VARIANTS &&                                                                            \
    !defined(CT_SIMT_LACKS_avx2) /* the Makefile's ISAS say which a build lacks */
static const CtHandler *const avx2_parts[] = {CT_SIMT_PARTS(PART, avx2) NULL};
#endif
#if HAS_X86_VARIANTS && !defined(CT_SIMT_LACKS_avx512)
static const CtHandler *const avx512_parts[] = {CT_SIMT_PARTS(PART, avx512) NULL};
#endif
#undef PART

/* From the weakest to the best. */
static const Isa isas[] = {
    {"base", base_parts},
#if HAS_X86_VARIANTS && !defined(CT_SIMT_LACKS_avx2)
    {"avx2", avx2_parts},
#endif
#if HAS_X86_VARIANTS && !defined(CT_SIMT_LACKS_avx512)
    {"avx512", avx512_parts},
#endif
};

#if HAS_X86_VARIANTS
/* By hand, because not every compiler's __builtin_cpu_supports knows it. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

static bool has_isa(const char *name) {
#if HAS_X86_VARIANTS
  __builtin_cpu_init();
  if (strcmp(name, "avx2") == 0) {
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  }
  if (strcmp(name, "avx512") == 0) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           has_f16c();
  }
#endif
  return strcmp(name, "base") == 0;
}

/* Handlers that are the same for every instruction set. */
static const CtHandler common_handlers[CT_SIMT_OP_COUNT] = {
#define X(name, ...) [CT_SIMT_##name] = ct_simt_do_##name,
#include "runtime/simt/code/simt_common.def"
#undef X
};

static void take_handlers(CtHandler *to, const CtHandler *part) {
  for (int op = 0; op < CT_SIMT_OP_COUNT; op++) {
    to[op] = part[op] != NULL ? part[op] : to[op];
  }
}

static void gather_handlers(CtHandler *to, const Isa *isa) {
  take_handlers(to, common_handlers);
  for (const CtHandler *const *part = isa->parts; *part != NULL; part++) {
    take_handlers(to, *part);
  }
  for (int op = 0; op < CT_SIMT_OP_COUNT; op++) {
    CT_ASSERT(to[op] != NULL);
  }
}

CtStatus ct_simt_choose_isa(const char *name, const char **chosen,
                            CtHandler handlers[CT_SIMT_OP_COUNT], CtErr *err) {
  for (size_t i = CT_ARRAY_LEN(isas); i-- > 0;) {
    if ((name == NULL || strcmp(name, isas[i].name) == 0) && has_isa(isas[i].name)) {
      *chosen = isas[i].name;
      gather_handlers(handlers, &isas[i]);
      return CT_OK;
    }
  }
  return ct_fail(err, CT_EUNSUPPORTED,
                 "CPU engine: this CPU or build has no instruction set "
                 "'%s'; expected base, avx2 or avx512, or none for the best",
                 name);
}
