/* recorder.c: the CUDA driver of tests/c/fake_libcuda.c that also notes each launch in the file RECORD: grid, block,
   attributes and every parameter, as the cubin lays them out. So a launch of an exported program can be compared
   with that of the interpreter, without a GPU.

   Both files are compiled with -D cuLaunchKernelEx=fake_launch and the like (tests/lua/program/export.lua), so that
   the entry points of that driver have other names, and this file adds its own under theirs. */
#undef cuLaunchKernelEx
#undef cuModuleLoadDataEx
#undef cuModuleGetFunction
#undef cuMemAlloc_v2
#undef cuMemAllocHost_v2
#undef cuMemAllocFromPoolAsync

#include "tests/c/fake_cuda.h"

#define X(need, name, args) CuResult name args;
#include "runtime/device/cuda_syms.def"
#undef X

struct CUfunc_st {
  char name[64]; /* as fake_libcuda.c has it */
};

CuResult fake_load(CuModule *m, const void *image, unsigned n, CuJitOption *options, void **values);
CuResult fake_function(CuFunction *f, CuModule m, const char *name);
CuResult fake_alloc(CuDevicePtr *p, size_t bytes);
CuResult fake_alloc_host(void **p, size_t bytes);
CuResult fake_alloc_from_pool(CuDevicePtr *p, size_t bytes, CuMemPool pool, CuStream s);

enum { MAX_IMAGES = 64, MAX_PARAMS = 64, KPARAM_INFO = 0x17, SECTION_BYTES = 64, COOPERATIVE = 2 };

/* Memory, so that addresses can be told from numbers. */
static struct {
  uint64_t at;
  size_t bytes;
} buffers[1024];
static int n_buffers;

typedef struct Param {
  unsigned offset, bytes;
} Param;

typedef struct Image {
  CuModule module;
  const unsigned char *bytes;
} Image;

typedef struct Function {
  char name[64];
  int n;
  Param params[MAX_PARAMS];
} Function;

static Image images[MAX_IMAGES];
static int n_images;
static Function *functions_of[MAX_IMAGES];
static int n_functions_of;

/* --- the cubin: an ELF file whose sections .nv.info.NAME say where parameters lie ---------------------- */

static uint64_t number(const unsigned char *p, int bytes) {
  uint64_t v = 0;
  memcpy(&v, p, (size_t)bytes);
  return v;
}

static void read_info(Function *f, const unsigned char *p, uint64_t n) {
  for (uint64_t at = 0; at + 4 <= n;) {
    unsigned format = p[at], attribute = p[at + 1], size = (unsigned)number(p + at + 2, 2);
    if (format == 4 && attribute == KPARAM_INFO) {
      unsigned ordinal = (unsigned)number(p + at + 8, 2), flags = (unsigned)number(p + at + 12, 4);
      f->params[ordinal].offset = (unsigned)number(p + at + 10, 2);
      f->params[ordinal].bytes = flags >> 18;
      f->n = (int)ordinal + 1 > f->n ? (int)ordinal + 1 : f->n;
    }
    at += format == 4 ? 4 + size : 4;
  }
}

static void find_params(Function *f, const unsigned char *elf) {
  char wanted[96];
  uint64_t headers = number(elf + 40, 8);
  unsigned n = (unsigned)number(elf + 60, 2), names_at = (unsigned)number(elf + 62, 2);
  const unsigned char *names = elf + number(elf + headers + SECTION_BYTES * names_at + 24, 8);
  snprintf(wanted, sizeof wanted, ".nv.info.%s", f->name);
  for (unsigned i = 0; i < n; i++) {
    const unsigned char *section = elf + headers + SECTION_BYTES * i;
    if (strcmp((const char *)names + number(section, 4), wanted) == 0) {
      read_info(f, elf + number(section + 24, 8), number(section + 32, 8));
    }
  }
}

/* --- entry points --------------------------------------------------------------------------------------- */

CuResult cuModuleLoadDataEx(CuModule *m, const void *image, unsigned n, CuJitOption *options,
                            void **values) {
  CuResult r = fake_load(m, image, n, options, values);
  if (r == CT_CUDA_SUCCESS && n_images < MAX_IMAGES && ((const char *)image)[0] == '\177') {
    /* the caller may free the image: the sections are read when functions are asked for, before that */
    uint64_t bytes = number((const unsigned char *)image + 40, 8) +
                     SECTION_BYTES * number((const unsigned char *)image + 60, 2);
    unsigned char *copy = malloc(bytes);
    memcpy(copy, image, bytes);
    images[n_images++] = (Image){*m, copy};
  }
  return r;
}

CuResult cuModuleLoadData(CuModule *m, const void *image) {
  return cuModuleLoadDataEx(m, image, 0, NULL, NULL);
}

CuResult cuModuleGetFunction(CuFunction *f, CuModule m, const char *name) {
  for (int i = 0; i < n_images; i++) {
    if (images[i].module == m) {
      Function *made = calloc(1, sizeof *made);
      snprintf(made->name, sizeof made->name, "%s", name);
      find_params(made, images[i].bytes);
      functions_of[n_functions_of++ % MAX_IMAGES] = made;
    }
  }
  return fake_function(f, m, name);
}

static const Function *find_function(const char *name) {
  for (int i = n_functions_of - 1; i >= 0; i--) {
    if (strcmp(functions_of[i]->name, name) == 0) {
      return functions_of[i];
    }
  }
  return NULL;
}

/* Block of memory that the address lies in, by the numbers of its bytes. */
static int find_buffer(uint64_t at) {
  for (int i = n_buffers - 1; i >= 0; i--) {
    if (at >= buffers[i].at && at < buffers[i].at + buffers[i].bytes) {
      return i;
    }
  }
  return -1;
}

static CuResult note_buffer(CuResult r, CuDevicePtr at, size_t bytes) {
  if (r == CT_CUDA_SUCCESS && n_buffers < 1024) {
    buffers[n_buffers].at = at;
    buffers[n_buffers++].bytes = bytes;
  }
  return r;
}

CuResult cuMemAlloc_v2(CuDevicePtr *p, size_t bytes) {
  CuResult r = fake_alloc(p, bytes);
  return note_buffer(r, *p, bytes);
}

CuResult cuMemAllocHost_v2(void **p, size_t bytes) {
  CuResult r = fake_alloc_host(p, bytes);
  return note_buffer(r, (CuDevicePtr)(uintptr_t)*p, bytes);
}

CuResult cuMemAllocFromPoolAsync(CuDevicePtr *p, size_t bytes, CuMemPool pool, CuStream s) {
  CuResult r = fake_alloc_from_pool(p, bytes, pool, s);
  return note_buffer(r, *p, bytes);
}

/* Of the first bytes at an address. The first word may be an address, too: in the table of a list of tensors. */
static unsigned sum_at(uint64_t at, int i, int is_table) {
  const unsigned char *p = (const unsigned char *)(uintptr_t)at;
  size_t n = buffers[i].at + buffers[i].bytes - at;
  uint64_t first = n >= 8 ? number(p, 8) : 0;
  int other = is_table ? find_buffer(first) : -1;
  unsigned sum = other < 0 ? 0 : sum_at(first, other, 0);
  for (size_t k = other < 0 ? 0 : 8; k < 16 && k < n; k++) {
    sum = 31 * sum + p[k];
  }
  return sum;
}

/* An address as a sum of the first bytes that lie there: it differs from process to process. */
static void put_word(FILE *out, const unsigned char *p, unsigned bytes) {
  uint64_t v = number(p, (int)bytes);
  int i = bytes == 8 ? find_buffer(v) : -1;
  if (i < 0) {
    fprintf(out, " %llx", (unsigned long long)v);
    return;
  }
  fprintf(out, " @%x", sum_at(v, i, 1));
}

static void put_param(FILE *out, const unsigned char *p, unsigned bytes) {
  unsigned step = bytes == 128 ? 8 : bytes <= 8 ? bytes : 4;
  fprintf(out, "  %u:", bytes);
  for (unsigned at = 0; at < bytes; at += step) {
    put_word(out, p + at, step);
  }
  fputc('\n', out);
}

/* The block of parameters ends where the last one does; none is aligned to more than the block is. */
static int is_whole(const Function *f, void **extra) {
  const Param *last = &f->params[f->n - 1];
  for (int i = 0; i < f->n; i++) {
    if (f->params[i].bytes == 128) {
      return 0; /* a tensor map */
    }
  }
  return f->n > 0 && (uintptr_t)extra[0] == 1 && (uintptr_t)extra[2] == 2 && extra[4] == NULL &&
         *(const size_t *)extra[3] == last->offset + last->bytes;
}

/* As while its stream is captured: a cooperative launch's parameters are taken only one by one. */
static int is_refused(const CuLaunchConfig *config) {
  int refused = 0;
  for (unsigned i = 0; i < config->n_attributes; i++) {
    refused |= getenv("CAPTURED") != NULL && (int)config->attributes[i].id == COOPERATIVE;
  }
  return refused;
}

CuResult cuLaunchKernelEx(const CuLaunchConfig *config, CuFunction f, void **params, void **extra) {
  const char *path = getenv("RECORD");
  const Function *known = find_function(f->name);
  FILE *out = path == NULL ? NULL : fopen(path, "a");
  if (out == NULL || known == NULL) {
    return 1;
  }
  fprintf(out, "%s grid %u %u %u block %u %u %u shared %u\n", f->name, config->grid[0],
          config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2],
          config->shared_bytes);
  for (unsigned i = 0; i < config->n_attributes; i++) {
    const unsigned *v = config->attributes[i].value.cluster;
    fprintf(out, "  attribute %d: %u\n", (int)config->attributes[i].id, v[0]);
  }
  if (extra != NULL && (!is_whole(known, extra) || is_refused(config))) {
    (void)fclose(out);
    return 1;
  }
  for (int i = 0; i < known->n; i++) {
    const unsigned char *whole = extra == NULL ? NULL : extra[1];
    put_param(out, whole != NULL ? whole + known->params[i].offset : params[i],
              known->params[i].bytes);
  }
  return fclose(out) == 0 ? CT_CUDA_SUCCESS : 1;
}

/* A map as what it was made of. */
CuResult cuTensorMapEncodeTiled(CuTensorMap *map, CuMapDtype dtype, uint32_t rank, void *address,
                                const uint64_t *extents, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *steps,
                                CuMapInterleave interleave, CuMapSwizzle swizzle,
                                CuMapPromotion promotion, CuMapFill fill) {
  uint64_t *words = (uint64_t *)(void *)map;
  memset(map, 0, sizeof *map);
  words[0] = (uint64_t)(uintptr_t)address;
  words[1] = (uint64_t)dtype << 32 | rank;
  words[2] = (uint64_t)swizzle << 32 | (uint64_t)promotion;
  words[3] = (uint64_t)interleave << 32 | (uint64_t)fill;
  for (uint32_t i = 0; i < rank; i++) {
    words[4 + i] = extents[i] << 16 | (uint64_t)steps[i] << 12 | box[i];
    words[9 + i] = i > 0 ? strides[i - 1] : 0;
  }
  return CT_CUDA_SUCCESS;
}

/* --- what the tests of exported kernels call beside --------------------------------------------------- */

CuResult cuMemcpyHtoD_v2(CuDevicePtr dst, const void *src, size_t bytes);
CuResult cuMemcpyHtoD_v2(CuDevicePtr dst, const void *src, size_t bytes) {
  memcpy((void *)(uintptr_t)dst, src, bytes);
  return CT_CUDA_SUCCESS;
}

CuResult cuMemcpyDtoH_v2(void *dst, CuDevicePtr src, size_t bytes);
CuResult cuMemcpyDtoH_v2(void *dst, CuDevicePtr src, size_t bytes) {
  memcpy(dst, (const void *)(uintptr_t)src, bytes);
  return CT_CUDA_SUCCESS;
}

CuResult cuMemsetD8_v2(CuDevicePtr dst, unsigned char byte, size_t bytes);
CuResult cuMemsetD8_v2(CuDevicePtr dst, unsigned char byte, size_t bytes) {
  memset((void *)(uintptr_t)dst, byte, bytes);
  return CT_CUDA_SUCCESS;
}
